import { isNotFound } from '@capstan/client';
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
