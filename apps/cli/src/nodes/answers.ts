import { gpuNodeKind, platformWorkspace } from '@capstan/api';
import { ApiError, isNotFound } from '@capstan/client';
import { Failure } from '../failure.ts';

/** Says that a node does not exist. */
export async function found<T>(node: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (isNotFound(error)) throw new Failure('usage', `there is no node ${node}; "capstan node list" lists all.`, error);
    throw error;
  }
}

/** The kinds are installed by the platform, some time after the first start. */
export async function installed<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.code === 404)
      throw new Failure(
        'unexpected',
        `the server has no nodes yet: ${gpuNodeKind.group} is not installed in ${platformWorkspace}. Try again later.`,
        error,
      );
    throw error;
  }
}
