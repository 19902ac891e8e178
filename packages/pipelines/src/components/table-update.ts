/** Updates, deletes and inserts rows of a table: MERGE. */
import { ParameterError, type Parameters, readCellText } from '../expressions/parameters.ts';
import type { Dialect, RowMerge, StatementList, TableReference } from '../sql/dialect/dialect.ts';
import type { TransformationDefinition } from './definition/component.ts';
import {
  placeParameters,
  rowsParameter,
  textParameter,
  yesNoParameter,
} from './definition/declared-parameters.ts';
import {
  getOnlySource,
  readMapping,
  readTableReference,
  wrapUserExpression,
} from './definition/plan-parts.ts';

type Merge = Omit<RowMerge, 'aside'>;

export const tableUpdate: TransformationDefinition = {
  kind: 'transformation',
  output: true,
  about:
    'Updates, deletes and inserts rows of an existing table. It fails if several rows of the source would update or delete the same row. Components that have it as a source read the table.',
  group: 'write',
  parameters: {
    targetTable: textParameter('The table.', { required: true, otherNames: ['table'] }),
    ...placeParameters,
    targetAlias: textParameter('The name of the table in conditions.', { standard: 'target' }),
    sourceAlias: textParameter('The name of the source in conditions.', { standard: 'input' }),
    joinExpression: rowsParameter(
      'When a row of the source matches a row of the table. All conditions must hold.',
      ['SQL condition', 'Case?'],
      { required: true, otherNames: ['joinExpressions'] },
    ),
    whenMatched: rowsParameter(
      'What happens to a row that matches. The first rule whose condition holds counts; `<none>` holds always.',
      ['SQL condition or <none>', 'Update or Delete'],
    ),
    updateMapping: rowsParameter('The columns of an update.', ['column', 'target column']),
    includeNotMatched: yesNoParameter('Whether rows without a match are inserted.', 'No'),
    insertMapping: rowsParameter('The columns of an insert.', ['column', 'target column']),
  },
  noEffect: ['catalog', 'warehouse'],
  example: `type: table-update
sources: [Changed customers]
parameters:
  targetTable: customers
  targetAlias: target
  sourceAlias: input
  joinExpression:
    - ['"input"."id" = "target"."id"', Case]
  whenMatched:
    - ["true", Update]
  updateMapping:
    - [name, name]
  includeNotMatched: "Yes"
  insertMapping:
    - [id, id]
    - [name, name]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const reference = readTableReference(parameters, 'targetTable');
    const table = dialect.table(reference);
    const merge = readMerge(parameters, reference, dialect);
    return {
      select: `SELECT * FROM ${getOnlySource(context).name}`,
      write: (query) => renderMerge(merge, query, dialect),
      written: { select: `SELECT * FROM ${table}`, columns: undefined },
    };
  },
};

function readMerge(parameters: Parameters, table: TableReference, dialect: Dialect): Merge {
  const conditions = parameters
    .rows('joinExpression', 1)
    .map((row) => wrapUserExpression(readCellText(row, 0), dialect));
  if (conditions.length === 0) throw new ParameterError('"joinExpression" is empty: add a condition');
  const rules = parameters.rows('whenMatched', 2).map((row) => {
    const action = readCellText(row, 1).trim().toLowerCase();
    if (action !== 'update' && action !== 'delete')
      throw new ParameterError(
        `"whenMatched" has the action "${readCellText(row, 1)}": use Update or Delete`,
      );
    const condition = readCellText(row, 0).trim();
    const isAlways = ['', '<none>', 'true'].includes(condition.toLowerCase());
    return {
      condition: isAlways ? undefined : wrapUserExpression(condition, dialect),
      action,
    } as const;
  });
  const updates = readMapping(parameters, 'updateMapping');
  if (rules.some((rule) => rule.action === 'update') && updates.length === 0)
    throw new ParameterError('"updateMapping" is empty, but "whenMatched" has an Update: map a column');
  const isInserting = parameters.yes('includeNotMatched', false);
  const inserts = isInserting ? readMapping(parameters, 'insertMapping') : [];
  if (isInserting && inserts.length === 0)
    throw new ParameterError('"insertMapping" is empty, but "includeNotMatched" is Yes: map a column');
  if (rules.length === 0 && !isInserting)
    throw new ParameterError(
      'it changes nothing: add a rule to "whenMatched" or set "includeNotMatched" to Yes',
    );
  if (rules.length === 0 && updates.length > 0)
    throw new ParameterError(
      '"updateMapping" updates nothing, because "whenMatched" has no rule: add ["true", "Update"], or empty the mapping',
    );
  const target = dialect.name(parameters.optionalText('targetAlias') ?? 'target');
  const source = dialect.name(parameters.optionalText('sourceAlias') ?? 'input');
  return { table, target, source, condition: conditions.join(' AND '), rules, updates, inserts };
}

/** The rows of the source are put aside: they are read twice, and the query may read the table. */
function renderMerge(merge: Merge, query: string, dialect: Dialect): StatementList {
  const { table, target, source, condition, rules } = merge;
  const aside = dialect.temporaryTable('headgate_new_rows');
  const check = {
    table: dialect.table(table),
    alias: target,
    source: `${aside} AS ${source}`,
    condition,
    rules,
  };
  const checks = rules.length === 0 ? [] : [...dialect.checkMerge(check)];
  const changes = dialect.merge({ ...merge, aside });
  return {
    statements: [dialect.createTemporaryTable(aside, query), ...checks, ...changes, `DROP TABLE ${aside}`],
    counted: 1 + checks.length,
    ...(changes.length === 1 ? {} : { countedTo: checks.length + changes.length }),
  };
}
