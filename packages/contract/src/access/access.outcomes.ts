/** Problems of the explanation of access. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const accessOutcomes = {
  events: [],
  problems: {
    'principal-not-found': kind<{ id: string }>(
      404,
      'The account has no such user or credential.',
      ({ id }) => `There is no user and no credential ${id}.`,
    ),
    'operation-not-of-project': kind<{ id: string; nearest: string | undefined }>(
      422,
      'There is no such operation, or a role in a project cannot give the right to it.',
      ({ id, nearest }) =>
        nearest === undefined
          ? `query.operation: ${quoted(id)} is no operation on a project; use an operationId of openapi.json, such as createVariable.`
          : `query.operation: ${quoted(id)} is no operation on a project; did you mean ${nearest}?`,
    ),
  },
} as const satisfies Outcomes;
