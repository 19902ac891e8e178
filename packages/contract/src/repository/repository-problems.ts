/** The problems that all operations on the content of a repository can answer. */
import type { ProblemCode } from '../problem.ts';

export const gitReadProblems = [
  'repository-missing',
  'migration-in-progress',
  'git-missing',
  'git-busy',
  'git-timeout',
  'git-failed',
  'git-answer-too-large',
  'clone-url-refused',
  'git-host-failed',
  'git-host-timeout',
  'repository-too-large',
  'repositories-unavailable',
] as const satisfies readonly ProblemCode[];

export const gitWriteProblems = [
  ...gitReadProblems,
  'push-refused',
  'ref-refused',
] as const satisfies readonly ProblemCode[];
