/** The component types of transformations. A new type is one file, and one entry here. */

import { aggregate } from './aggregate.ts';
import { calculator } from './calculator.ts';
import type { TransformationDefinition } from './component.ts';
import { filter } from './filter.ts';
import { fixedFlow } from './fixed-flow.ts';
import { join } from './join.ts';
import { rank } from './rank.ts';
import { rename } from './rename.ts';
import { rewriteTable } from './rewrite-table.ts';
import { sqlComponent } from './sql.ts';
import { tableInput } from './table-input.ts';
import { tableOutput } from './table-output.ts';
import { unite } from './unite.ts';

export const transformationDefinitions = {
  'table-input': tableInput,
  'fixed-flow': fixedFlow,
  sql: sqlComponent,
  filter,
  join,
  calculator,
  aggregate,
  rename,
  rank,
  unite,
  'rewrite-table': rewriteTable,
  'table-output': tableOutput,
} satisfies Record<string, TransformationDefinition>;
