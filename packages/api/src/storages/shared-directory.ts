import { labelName } from '../definition/common.ts';
import { object, type ReadOf, type TextOptions, text } from '../definition/schema.ts';

const fields = {
  name: labelName('Its name: a class of storages.'),
  id: text('Id in the directory itself. Directories of the same name with different ids are different ones.', {
    minLength: 1,
    maxLength: 64,
    pattern: '^[A-Za-z0-9-]+$',
  }),
};

/** A directory that several nodes have, as the owner of the platform declares. */
export const sharedDirectory = (description: string, options: Pick<TextOptions, 'rules'> = {}) => object(description, fields, options);

export type SharedDirectory = ReadOf<ReturnType<typeof sharedDirectory>>;

/** Placement sees the directories of nodes as labels. The name and the id make the directory. */
export const directoryLabel = (name: string): string => `shared-directory.capstan.dev/${name}`;
