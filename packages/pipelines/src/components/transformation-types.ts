/** The component types of transformations. A new type is one file, and one entry here. */

import { aggregate } from './aggregate.ts';
import { assertView } from './assert-view.ts';
import { calculator } from './calculator.ts';
import { constructVariant } from './construct-variant.ts';
import { convertType } from './convert-type.ts';
import { createView } from './create-view.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { detectChanges } from './detect-changes.ts';
import { distinct } from './distinct.ts';
import { extractNestedData } from './extract-nested-data.ts';
import { filter } from './filter.ts';
import { firstLast } from './first-last.ts';
import { fixedFlow } from './fixed-flow.ts';
import { flattenVariant } from './flatten-variant.ts';
import { generateSequence } from './generate-sequence.ts';
import { join } from './join.ts';
import { leadLag } from './lead-lag.ts';
import { mapValues } from './map-values.ts';
import { multiTableInput } from './multi-table-input.ts';
import { pivot } from './pivot.ts';
import { rank } from './rank.ts';
import { rename } from './rename.ts';
import { rewriteTable } from './rewrite-table.ts';
import { limit, order, replicate } from './row-order.ts';
import { except, intersect } from './set-operations.ts';
import { splitField } from './split-field.ts';
import { sqlComponent } from './sql.ts';
import { tableInput } from './table-input.ts';
import { tableOutput } from './table-output.ts';
import { tableUpdate } from './table-update.ts';
import { transposeColumns } from './transpose-columns.ts';
import { transposeRows } from './transpose-rows.ts';
import { unite } from './unite.ts';
import { unpivot } from './unpivot.ts';
import { streamInput, unknownTransformation } from './unsupported-types.ts';
import { windowCalculation } from './window-calculation.ts';

export const transformationDefinitions = {
  'table-input': tableInput,
  'multi-table-input': multiTableInput,
  'fixed-flow': fixedFlow,
  'generate-sequence': generateSequence,
  sql: sqlComponent,
  'stream-input': streamInput,
  filter,
  join,
  calculator,
  aggregate,
  rename,
  rank,
  'lead-lag': leadLag,
  'window-calculation': windowCalculation,
  'first-last': firstLast,
  unite,
  except,
  intersect,
  distinct,
  order,
  limit,
  replicate,
  'convert-type': convertType,
  'map-values': mapValues,
  'split-field': splitField,
  'detect-changes': detectChanges,
  'extract-nested-data': extractNestedData,
  'flatten-variant': flattenVariant,
  'construct-variant': constructVariant,
  pivot,
  unpivot,
  'transpose-columns': transposeColumns,
  'transpose-rows': transposeRows,
  'unknown-transformation': unknownTransformation,
  'rewrite-table': rewriteTable,
  'table-output': tableOutput,
  'table-update': tableUpdate,
  'create-view': createView,
  'assert-view': assertView,
} satisfies Record<string, TransformationDefinition>;
