/** Takes columns out of a column with JSON, by a tree of its elements. */
import { ParameterError, readCellYes } from '../expressions/parameters.ts';
import type { Resolved, ResolvedMap } from '../expressions/resolve.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import type { ComputedColumn, TransformationDefinition } from './definition/component.ts';
import {
  choiceParameter,
  mapParameter,
  textParameter,
  yesNoParameter,
} from './definition/declared-parameters.ts';
import { getOnlySource, isSameName } from './definition/plan-parts.ts';
import { createJsonStages, type JsonStages } from './json-stages.ts';
import { readPath, renderAt, renderJsonCast } from './json-values.ts';

const strict = 'Fail on invalid data';

/** Which types give NULL for a value that cannot be cast. */
const castingMethods = {
  [strict]: 'none',
  'Replace all unparseable values with null': 'all',
  'Replace unparseable dates and timestamps with null': 'times',
} as const;

interface Node {
  readonly name: string;
  readonly alias: string;
  readonly column: string;
  readonly type: string;
  readonly isArray: boolean;
  readonly isIncluded: boolean;
  readonly children: readonly Node[];
}

export const extractNestedData: TransformationDefinition = {
  kind: 'transformation',
  embeddedOnly: true,
  output: false,
  about:
    'Takes columns out of a column with JSON. `columns` is a tree of its elements; those with `include: "true"` become columns. Each element of an array with an included element becomes a row; the rows of several arrays are multiplied.',
  group: 'transform',
  parameters: {
    columns: mapParameter(
      'The tree. Each element has `name` (a key or a path), `columnName` (the source’s column), `aliasName` (the new column), `datatype`, `size`, `decimalPlaces`, `isArray`, `include` and `childElements`.',
      { required: true },
    ),
    includeInputColumns: yesNoParameter('Whether the columns of the source are kept.', 'Yes'),
    outerJoin: yesNoParameter('Whether rows whose array is empty or missing are kept, with NULL.', 'No'),
    castingMethod: choiceParameter(
      'What happens to a value that does not fit its type.',
      Object.keys(castingMethods),
      {
        standard: strict,
      },
    ),
    inputAlias: textParameter(
      'Put with `_` before the name of a new column if another new column has that name.',
      { standard: 'i' },
    ),
  },
  noEffect: ['arrayPrefix', 'caseColumnAliasNames'],
  example: `type: extract-nested-data
sources: [Responses]
parameters:
  includeInputColumns: "No"
  columns:
    - name: orders
      columnName: data
      aliasName: orders
      datatype: VARIANT
      isArray: "true"
      include: "false"
      childElements:
        - name: orders-element
          columnName: data
          aliasName: orders-element
          datatype: VARIANT
          isArray: "false"
          include: "false"
          childElements:
            - name: amount
              columnName: data
              aliasName: amount
              datatype: NUMBER
              isArray: "false"
              include: "true"`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const tolerance = parameters.choice<string>('castingMethod', castingMethods, 'none');
    const isOuter = parameters.yes('outerJoin', false);
    const roots = readNodes(parameters.value('columns'), '', dialect);
    const stages = createJsonStages(getOnlySource(context), dialect);
    const columns: ComputedColumn[] = [];
    const take = (node: Node, json: string) => {
      if (!node.isIncluded) return;
      const isTime = /DATE|TIME/.test(node.type);
      const isTolerant = tolerance === 'all' || (tolerance === 'times' && isTime);
      const isTaken = columns.some(({ name }) => isSameName(name, node.alias));
      const prefix = isTaken ? `${parameters.optionalText('inputAlias') ?? 'i'}_` : '';
      columns.push({
        name: `${prefix}${node.alias}`,
        sql: renderJsonCast(json, node.type, isTolerant, dialect),
      });
    };
    for (const root of roots.filter(isUsed))
      walk(root, stages.readColumn(root.column), { stages, dialect, isOuter, take });
    if (columns.length === 0)
      throw new ParameterError('"columns" includes no element: set "include" of an element to "true"');
    return stages.render(columns, parameters.yes('includeInputColumns', true));
  },
};

interface Walk {
  readonly stages: JsonStages;
  readonly dialect: Dialect;
  readonly isOuter: boolean;
  take(node: Node, json: string): void;
}

function walk(node: Node, parent: string, run: Walk, isElement = false): void {
  if (!isUsed(node)) return;
  const json = isElement ? parent : renderAt(parent, readPath(node.name), run.dialect);
  run.take(node, json);
  if (!node.children.some(isUsed)) return;
  const inner = node.isArray ? run.stages.unnest(json, run.isOuter) : json;
  for (const child of node.children) walk(child, inner, run, node.isArray && child.name.endsWith('-element'));
}

const isUsed = (node: Node): boolean => node.isIncluded || node.children.some(isUsed);

function readNodes(value: Resolved | undefined, column: string, dialect: Dialect): Node[] {
  if (value === undefined || value === null || value === '') return [];
  if (!Array.isArray(value)) throw new ParameterError('"columns" must be a list of elements');
  return value.map((each: Resolved) => readNode(each, column, dialect));
}

function readNode(value: Resolved, parentColumn: string, dialect: Dialect): Node {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ParameterError('an element of "columns" must be a map with "name" and "columnName"');
  const map = value as ResolvedMap;
  const text = (key: string) => readText(map, key);
  const name = text('name');
  const column = text('columnName') || parentColumn;
  if (name === '' || column === '')
    throw new ParameterError(
      `an element of "columns" has no "${name === '' ? 'name' : 'columnName'}": fill it in`,
    );
  const isSized = !/^0*$/.test(text('size').trim());
  const type = dialect.type({
    type: text('datatype') || 'VARIANT',
    ...(isSized ? { size: text('size'), precision: text('decimalPlaces') } : {}),
  });
  return {
    name,
    column,
    type,
    alias: text('aliasName') || name,
    isArray: readCellYes([text('isArray')], 0, `"isArray" of "${name}"`),
    isIncluded: readCellYes([text('include')], 0, `"include" of "${name}"`),
    children: readNodes(map.childElements, column, dialect),
  };
}

function readText(map: ResolvedMap, key: string): string {
  const value = Object.hasOwn(map, key) ? map[key] : undefined;
  if (value === undefined || value === null) return '';
  if (typeof value === 'object') throw new ParameterError(`"${key}" of an element must be a single value`);
  return String(value);
}
