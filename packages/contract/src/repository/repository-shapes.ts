/** What branches, commits and files of a repository have in common. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { oneOf } from '../primitives.ts';

/** Changed files in one answer. */
export const changeLimit = 1_000;
export const repositoryPathLimit = 4_096;

export const CommitId = Type.String({
  pattern: '^[0-9a-f]{40}$',
  'x-form': 'the 40 hexadecimal digits of a commit',
  maxLength: 40,
});
export const RevisionName = Type.String({ minLength: 1, maxLength: 255 });
/** Paths of a repository may be longer than those of artifacts. Bytes that are not UTF-8 are U+FFFD. */
export const RepositoryPath = Type.String({ maxLength: repositoryPathLimit });

export const FileChange = named(
  'RepositoryFileChange',
  Type.Object({
    path: RepositoryPath,
    change: oneOf(['added', 'deleted', 'modified', 'renamed', 'type-changed']),
    earlierPath: Type.Optional(Type.String({ ...RepositoryPath, description: 'Of a renamed file' })),
    additions: Type.Optional(Type.Integer({ minimum: 0, description: 'Lines; absent for a binary file' })),
    deletions: Type.Optional(Type.Integer({ minimum: 0 })),
    isBinary: Type.Boolean(),
  }),
);
export type RepositoryFileChange = Static<typeof FileChange>;
