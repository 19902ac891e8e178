/** Problems and events of reads of tables. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const warehouseTableOutcomes = {
  events: ['table-read-claimed', 'table-read-ended'],
  problems: {
    'invalid-table-name': kind<{ name: string }>(
      422,
      'The name is not that of a table.',
      ({ name }) =>
        `${quoted(name)} is not the name of a table: write schema.name, with a part that has a dot or a quotation mark in quotation marks, such as shop."net.sales".`,
    ),
    'table-not-found': kind<{ name: string; environmentName: string; nearest: readonly string[] }>(
      404,
      'The warehouse of the environment has no such table, or its role for reading may not read it.',
      ({ name, environmentName, nearest }) =>
        `The warehouse of the environment ${quoted(environmentName)} has no table ${quoted(name)} that can be read.${nearest.length === 0 ? '' : ` Did you mean ${nearest.join(' or ')}?`}`,
    ),
  },
} as const satisfies Outcomes;
