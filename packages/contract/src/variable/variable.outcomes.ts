/** Problems and events of variables and their overrides. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const variableOutcomes = {
  events: [
    'variable-created',
    'variable-updated',
    'variable-deleted',
    'override-written',
    'override-deleted',
  ],
  problems: {
    'variable-not-found': kind<{ name: string }>(
      404,
      'The project has no variable with this name.',
      ({ name }) => `The project has no variable ${quoted(name)}.`,
    ),
    'variable-name-taken': kind<{ name: string }>(
      409,
      'Another variable of the project has this name.',
      ({ name }) => `A variable named ${quoted(name)} already exists in this project.`,
    ),
    'value-type-mismatch': kind<{ field: string; type: string; found: string }>(
      422,
      'The value does not have the type of the variable.',
      ({ field, type, found }) => `${field} does not have the variable's type ${type}: it is ${found}.`,
    ),
    'override-not-found': kind<{ name: string; environmentName: string }>(
      404,
      'The variable has no override in the environment.',
      ({ name, environmentName }) =>
        `The variable ${quoted(name)} has no override in the environment ${quoted(environmentName)}.`,
    ),
    'override-type-mismatch': kind<{ type: string; environments: readonly string[] }>(
      422,
      'Existing overrides do not have the new type of the variable.',
      ({ type, environments }) =>
        `The overrides in these environments do not have the type ${type}: ${environments.map(quoted).join(', ')}. Change or delete them first.`,
    ),
    'duplicate-environment': kind<{ name: string }>(
      400,
      'The request names an environment more than once.',
      ({ name }) => `body.environmentOverrides names the environment ${quoted(name)} more than once.`,
    ),
    'overrides-refused': kind<{ count: number }>(
      422,
      'With `atomic=true`, at least one override is invalid. Nothing was written.',
      ({ count }) =>
        `Nothing was written: the request is atomic, and ${count} of its overrides cannot be written; see \`violations\`.`,
    ),
  },
} as const satisfies Outcomes;
