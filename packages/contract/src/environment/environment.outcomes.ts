/** Problems and events of environments. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const environmentOutcomes = {
  events: ['environment-created', 'environment-updated', 'environment-deleted'],
  problems: {
    'environment-not-found': kind<{ name: string }>(
      404,
      'The project has no environment with this name.',
      ({ name }) => `The project has no environment ${quoted(name)}.`,
    ),
    'environment-name-taken': kind<{ name: string }>(
      409,
      'Another environment of the project has this name.',
      ({ name }) => `An environment named ${quoted(name)} already exists in this project.`,
    ),
    'environment-holds-tables': kind<{ name: string; holds: string }>(
      409,
      'The environment holds tables, or its agent cannot be asked. They are deleted with it: send `?confirm=true`.',
      ({ name, holds }) =>
        `The environment ${quoted(name)} ${holds}. Its tables and files are deleted with it: to delete it all the same, send \`?confirm=true\`.`,
    ),
    'environment-name-spaces': kind<{ name: string }>(
      422,
      'The name of a new environment begins or ends with a space.',
      ({ name }) =>
        `The name ${quoted(name)} begins or ends with a space, which nobody sees: send ${quoted(name.trim())}.`,
    ),
    'quality-rules-refused': kind<{ faults: number }>(
      422,
      'The `qualityGateRules` have faults, which `violations` lists.',
      ({ faults }) =>
        `The rules of the quality gate have ${faults} ${faults === 1 ? 'fault' : 'faults'}; see \`violations\`. Nothing was changed.`,
    ),
    'unknown-environment': kind<{ name: string }>(
      422,
      'The body names an environment that the project does not have.',
      ({ name }) => `The project has no environment ${quoted(name)}.`,
    ),
    'unknown-connection': kind<{ field: string; name: string; kind: string }>(
      422,
      'The body names a connection that the project does not have, or that is of another kind.',
      ({ field, name, kind }) => `${field}: the project has no ${kind} named ${quoted(name)}.`,
    ),
    'duplicate-connection': kind<{ field: string; name: string }>(
      422,
      'The body names a connection more than once.',
      ({ field, name }) => `${field} names ${quoted(name)} more than once.`,
    ),
  },
} as const satisfies Outcomes;
