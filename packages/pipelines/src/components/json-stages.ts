/**
 * The rows of extract-nested-data and flatten-variant. Each array that is unnested is one more SELECT around
 * the source, which adds a hidden column with the element.
 */
import type { Dialect } from '../sql/dialect/dialect.ts';
import type { ComputedColumn, Relation, Source } from './definition/component.ts';
import { isSameName } from './definition/plan-parts.ts';
import { asJson, renderElements } from './json-values.ts';
import { renderColumnsExcept } from './projection.ts';

export interface JsonStages {
  /** A column of the source as JSON. Returns SQL. */
  readColumn(column: string): string;
  /** Makes a row of each element. Returns the element as SQL. `filter`: only of arrays or only of objects. */
  unnest(json: string, isOuter: boolean, filter?: 'ARRAY' | 'OBJECT'): string;
  /** The rows with some columns, which replace columns of the source of the same name. */
  render(columns: readonly ComputedColumn[], include: boolean): Relation;
}

export function createJsonStages(source: Source, dialect: Dialect): JsonStages {
  const hidden: string[] = [];
  const roots = new Map<string, string>();
  const stages: string[] = [];
  const hide = (kind: string) => {
    const name = `headgate_${kind}_${hidden.length + 1}`;
    hidden.push(name);
    return dialect.name(name);
  };
  return {
    readColumn(column) {
      const known = roots.get(column.toLowerCase());
      if (known !== undefined) return known;
      const name = hide('json');
      roots.set(column.toLowerCase(), name);
      // Columns of the source are known to every later stage.
      stages.unshift(`SELECT *, ${asJson(dialect.name(column))} AS ${name} FROM `);
      return name;
    },
    unnest(json, isOuter, filter) {
      const [list, element] = [hide('list'), hide('element')];
      const elements = renderElements(json);
      const elementsOrNull =
        filter === undefined ? elements : `CASE json_type(${json}) WHEN '${filter}' THEN ${elements} END`;
      stages.push(`SELECT *, ${elementsOrNull} AS ${list} FROM `);
      const each = isOuter ? `CASE WHEN len(${list}) > 0 THEN ${list} ELSE [NULL::JSON] END` : list;
      stages.push(`SELECT *, unnest(${each}) AS ${element} FROM `);
      return element;
    },
    render(columns, include) {
      const rows = dialect.name('headgate_rows');
      const inner = stages.reduce((from, stage) => `(${stage}${from})`, source.name);
      const list = columns.map(({ name, sql }) => `${sql} AS ${dialect.name(name)}`);
      const names = columns.map(({ name }) => name);
      const isReplaced = (column: string) => names.some((each) => isSameName(each, column));
      const retained = source.columns?.filter((column) => !isReplaced(column));
      const from = `(SELECT * FROM ${inner}) AS ${rows}`;
      if (!include) return { select: `SELECT ${list.join(', ')}\nFROM ${from}`, columns: names };
      if (retained !== undefined) {
        const all = [...retained.map(dialect.name), ...list];
        return { select: `SELECT ${all.join(', ')}\nFROM ${from}`, columns: [...retained, ...names] };
      }
      const select = renderColumnsExcept(rows, [...hidden, ...names], list, '', dialect);
      return {
        select: `WITH ${rows} AS (SELECT * FROM ${inner})\n${select}`,
        columns: undefined,
      };
    },
  };
}
