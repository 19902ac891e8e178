/** Files of a repository. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { oneOf, pageOf, pageQuery } from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { revisionQuery } from './repository-commit.ts';
import { gitReadProblems } from './repository-problems.ts';
import { CommitId, RepositoryPath } from './repository-shapes.ts';

/** Bytes of a file that is answered. */
export const fileContentLimit = 5_242_880;

export const RepositoryFile = named(
  'RepositoryFile',
  Type.Object({
    path: Type.String({ ...RepositoryPath, description: 'From the root of the repository' }),
    kind: oneOf(['file', 'executable', 'link', 'folder', 'submodule']),
    objectId: Type.String({ maxLength: 40, description: 'The id of the Git object' }),
    size: Type.Optional(Type.Integer({ minimum: 0, description: 'Bytes, of a file or link' })),
    isText: Type.Optional(
      Type.Boolean({ description: 'false: the path has bytes that are not UTF-8, shown as U+FFFD' }),
    ),
  }),
);
export type RepositoryFile = Static<typeof RepositoryFile>;

export const RepositoryFileContent = named(
  'RepositoryFileContent',
  Type.Object({
    path: RepositoryPath,
    commitId: CommitId,
    objectId: Type.String({ maxLength: 40 }),
    size: Type.Integer({ minimum: 0 }),
    encoding: oneOf(['utf-8', 'base64'], { description: 'utf-8 where the file is text' }),
    content: Type.String({ maxLength: fileContentLimit * 2 }),
  }),
);
export type RepositoryFileContent = Static<typeof RepositoryFileContent>;

const fileOperation = { surface: 'dpc', tag: 'Repositories' } as const;
const path = '/v1/projects/{projectId}/repositories/files';

export const listRepositoryFiles = operation({
  ...fileOperation,
  id: 'listRepositoryFiles',
  method: 'GET',
  path,
  summary: 'List files',
  description:
    'The files and folders of one folder, or with `recursive` all files below it, ordered by path.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({
    ...revisionQuery,
    path: Type.Optional(Type.String({ ...RepositoryPath, description: 'A folder. Default: the root' })),
    recursive: Type.Boolean({ default: false }),
    ...pageQuery,
  }),
  success: { status: 200, body: pageOf(RepositoryFile) },
  problems: [...gitReadProblems, 'revision-not-found', 'repository-file-not-found'],
  events: [],
});

export const getRepositoryFile = operation({
  ...fileOperation,
  id: 'getRepositoryFile',
  method: 'GET',
  path: `${path}/content`,
  summary: 'Get the content of a file',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({
    ...revisionQuery,
    path: Type.String({ ...RepositoryPath, minLength: 1 }),
  }),
  success: { status: 200, body: RepositoryFileContent },
  problems: [...gitReadProblems, 'revision-not-found', 'repository-file-not-found'],
  events: [],
});

export const repositoryFileOperations = [listRepositoryFiles, getRepositoryFile] as const;
