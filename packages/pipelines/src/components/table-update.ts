/** Updates, deletes and inserts rows of a table: MERGE. */
import { ParameterError, type Parameters, readCellText } from '../expressions/parameters.ts';
import type { Dialect, MatchedRule, StatementList } from '../sql/dialect/dialect.ts';
import {
  getOnlySource,
  readMapping,
  readTableReference,
  type TransformationDefinition,
  wrapUserExpression,
} from './definition/component.ts';
import {
  placeParameters,
  rowsParameter,
  textParameter,
  yesNoParameter,
} from './definition/declared-parameters.ts';

interface Merge {
  readonly table: string;
  readonly target: string;
  readonly source: string;
  readonly condition: string;
  readonly rules: readonly MatchedRule[];
  readonly updates: readonly (readonly [string, string])[];
  readonly inserts: readonly (readonly [string, string])[];
}

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
    const table = dialect.table(readTableReference(parameters, 'targetTable'));
    const merge = readMerge(parameters, table, dialect);
    return {
      select: `SELECT * FROM ${getOnlySource(context).name}`,
      write: (query) => renderMerge(merge, query, dialect),
      written: { select: `SELECT * FROM ${table}`, columns: undefined },
    };
  },
};

function readMerge(parameters: Parameters, table: string, dialect: Dialect): Merge {
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
  const { table, target, source, condition, rules, updates, inserts } = merge;
  const aside = dialect.temporaryTable('headgate_new_rows');
  const column = (name: string) => `${source}.${dialect.name(name)}`;
  const assignments = updates.map(([from, to]) => `${dialect.name(to)} = ${column(from)}`);
  const clauses = rules.map((rule) => {
    const when = `WHEN MATCHED${rule.condition === undefined ? '' : ` AND ${rule.condition}`} THEN`;
    return rule.action === 'update' ? `${when} UPDATE SET ${assignments.join(', ')}` : `${when} DELETE`;
  });
  if (inserts.length > 0) {
    const names = inserts.map(([, to]) => dialect.name(to)).join(', ');
    const values = inserts.map(([from]) => column(from)).join(', ');
    clauses.push(`WHEN NOT MATCHED THEN INSERT (${names}) VALUES (${values})`);
  }
  const check = { table, alias: target, source: `${aside} AS ${source}`, condition, rules };
  const checks = rules.length === 0 ? [] : [...dialect.checkMerge(check)];
  return {
    statements: [
      dialect.createTemporaryTable(aside, query),
      ...checks,
      [`MERGE INTO ${table} AS ${target}`, `USING ${aside} AS ${source}`, `ON ${condition}`, ...clauses].join(
        '\n',
      ),
      `DROP TABLE ${aside}`,
    ],
    counted: 1 + checks.length,
  };
}
