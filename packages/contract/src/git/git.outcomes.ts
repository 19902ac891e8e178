/** Problems of the git program, which every operation of repositories can answer. */
import { kind } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const gitOutcomes = {
  events: [],
  problems: {
    'git-missing': kind<{ fault: string }>(
      503,
      'The server has no usable git program. Its operator must install git 2.30 or later.',
      ({ fault }) => `Repositories cannot be used at this server: ${fault}.`,
    ),
    'git-busy': kind<{ seconds: number }>(
      503,
      'Too much work of Git waits at this server. `Retry-After` says when to try again.',
      ({ seconds }) => `Too much work of Git waits at this server; try again in ${seconds} s.`,
    ),
    'git-timeout': kind<{ seconds: number }>(
      504,
      'Git took too long.',
      ({ seconds }) => `Git did not finish within ${seconds} s.`,
    ),
    'git-answer-too-large': kind<{ bytes: number }>(
      422,
      'What was asked of the repository is larger than the server answers.',
      ({ bytes }) =>
        `What was asked of the repository has more than ${bytes} bytes: ask for less, such as one folder or one file.`,
    ),
    'ref-refused': kind<{ words: string }>(
      409,
      'Git could not move a branch or tag, for example because its name is below that of another branch.',
      ({ words }) => `The branch or tag cannot be written: ${words}`,
    ),
    'git-failed': kind<{ command: string; words: string }>(
      500,
      'Git failed. The repository may be damaged; the detail has its words.',
      ({ command, words }) => `git ${command} failed: ${words}`,
    ),
  },
} as const satisfies Outcomes;
