/** Problems and events of repositories hosted here. */
import { kind } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const hostedRepositoryOutcomes = {
  events: ['repository-pushed'],
  problems: {
    'git-password-required': kind(
      401,
      'A request of the git program has no password.',
      () =>
        'Send a password: an access token with any user name, or a client id as user name and its secret as password.',
    ),
    'git-password-refused': kind<{ reason: string }>(
      401,
      'The password of a request of the git program is not accepted.',
      ({ reason }) =>
        `The password is not accepted: ${reason.replace(/\.?$/, '.')} Give an access token with any user name, or a client id as user name and its secret as password. If git has stored an old password, remove it by "git credential reject".`,
    ),
    'git-address-incomplete': kind<{ path: string }>(
      404,
      'The address of the repository does not end with .git.',
      ({ path }) => `The address of the repository ends with .git: use ${path}.`,
    ),
    'smart-git-required': kind(
      403,
      'The program asks for files of the repository one by one, as git did before version 1.6.6.',
      () => 'This repository speaks the smart protocol only: use git 2.30 or later.',
    ),
    'invalid-push': kind<{ reason: string }>(
      400,
      'A request of the git program cannot be read.',
      ({ reason }) => `The request of git cannot be read: ${reason}.`,
    ),
    'not-hosted-here': kind<{ provider: string }>(
      404,
      'The repository of the project is on another host. Its cloneUrl is the address to use.',
      ({ provider }) =>
        `The repository of this project is not hosted here but at ${provider}: use the cloneUrl that GET …/repositories answers.`,
    ),
  },
} as const satisfies Outcomes;
