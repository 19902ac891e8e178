/** Problems and events of secret references and of checking them. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const secretReferenceOutcomes = {
  events: [
    'secret-reference-created',
    'secret-reference-deleted',
    'secret-check-requested',
    'secret-check-claimed',
    'secret-check-ended',
  ],
  problems: {
    'secret-reference-not-found': kind<{ name: string }>(
      404,
      'The project has no secret reference with this name.',
      ({ name }) => `The project has no secret reference ${quoted(name)}.`,
    ),
    'secret-reference-taken': kind<{ name: string }>(
      409,
      'Another secret reference of the project has this name.',
      ({ name }) => `A secret reference named ${quoted(name)} already exists in this project.`,
    ),
    'secret-reference-in-use': kind<{ name: string; users: readonly string[]; more: boolean }>(
      409,
      'Connections, streaming pipelines or OAuth configurations use the secret reference, by its name or by the name of the secret in the vault. `force=true` deletes it anyway.',
      ({ name, users, more }) =>
        `The secret reference ${quoted(name)} is used by ${users.join(', ')}${more ? ' and others' : ''}; ` +
        'change them first, or send force=true.',
    ),
    'secret-reference-name-reserved': kind<{ name: string }>(
      422,
      'A secret reference cannot be named `check`, because that path checks secret references.',
      ({ name }) =>
        `A secret reference cannot be named ${quoted(name)}, because this path checks secret references. Choose another name.`,
    ),
    'no-agent-to-ask': kind<{ reasons: readonly string[] }>(
      409,
      'None of the agents that would read the secrets is connected, allowed, and recent enough to check them.',
      ({ reasons }) => `No agent can be asked: ${reasons.join('; ')}.`,
    ),
    'secret-check-timeout': kind<{ names: readonly string[]; seconds: number }>(
      504,
      'No agent answered in time.',
      ({ names, seconds }) =>
        `None of the agents ${names.map(quoted).join(', ')} answered within ${seconds} s. Send the same request with the same Idempotency-Key to get the results that arrive later.`,
    ),
  },
} as const satisfies Outcomes;
