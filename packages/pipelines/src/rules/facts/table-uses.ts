/** Which tables a component fills, empties or drops, as far as its parameters and SQL show. */
import type { Plain } from '../../format/pipeline.ts';
import { createTableKey } from './column-types.ts';
import { listNamed, type ReviewedComponent } from './reviewed-pipeline.ts';
import { expressionName, isSymbol, isWord, readName, type SqlStatement } from './sql-statements.ts';

/**
 * fill: rows are added, and again if it is repeated. replace: the rows are those of this step, however often it runs.
 * empty: rows are deleted by a step that adds none.
 */
export type TableUseKind = 'fill' | 'replace' | 'empty';
export interface TableUse {
  readonly table: string;
  readonly kind: TableUseKind;
  /** By a statement of a script. */
  readonly isSql?: true;
}

export function findTableUses(component: ReviewedComponent): TableUse[] {
  return [
    ...findByType(component),
    ...component.sql.flatMap(({ statements }) =>
      statements.flatMap((each) => findInStatement(each).map((use) => ({ ...use, isSql: true as const }))),
    ),
  ];
}

// not SQL: words of a parameter
const replacing = /replace|truncate|overwrite/i;
const replacesRows = (mode: Plain | undefined) => replacing.test(String(mode ?? ''));

/** Loads from files, databases and services. */
const loadType = /(?:-load|-query|-extract|-unload)$/;

function findByType({ type, parameters }: ReviewedComponent): TableUse[] {
  const use = (kind: TableUseKind, name = parameters.targetTable ?? parameters.table): TableUse[] => {
    const table = createTableKey(parameters, name);
    return table === undefined ? [] : [{ table, kind }];
  };
  switch (type) {
    case 'table-output': {
      const mode = String(parameters.outputMode ?? 'Append');
      return use(/append/i.test(mode) ? 'fill' : 'replace');
    }
    case 'rewrite-table':
      return use('replace');
    case 'table-update':
      return use('replace');
    case 'file-load':
      return use(replacesRows(parameters.createReplace) ? 'replace' : 'fill');
    case 'truncate-table':
    case 'delete-tables':
      return listNamed(
        parameters.targetTable ?? parameters.targetTables ?? parameters.tablesToTruncate ?? parameters.tables,
      ).flatMap((name) => use('empty', name));
    default:
      // A staging table of a connector is made anew by each load.
      return loadType.test(type) && !type.endsWith('-unload')
        ? use(type.endsWith('-load') ? 'fill' : 'replace')
        : [];
  }
}

function findInStatement({ tokens }: SqlStatement): TableUse[] {
  const first = tokens.findIndex((token) =>
    isWord(token, 'INSERT', 'TRUNCATE', 'DROP', 'DELETE', 'CREATE', 'COPY', 'MERGE'),
  );
  // A statement may begin with WITH; anything else, such as EXPLAIN or a block, is not read.
  if (first < 0 || (first > 0 && !isWord(tokens[0], 'WITH'))) return [];
  const word = tokens[first]?.value;
  let at = first + 1;
  const passed: string[] = [];
  while (
    isWord(
      tokens[at],
      'OR',
      'REPLACE',
      'OVERWRITE',
      'INTO',
      'TABLE',
      'IF',
      'NOT',
      'EXISTS',
      'FROM',
      'TRANSIENT',
      'TEMPORARY',
      'TEMP',
    )
  ) {
    passed.push(tokens[at]?.value ?? '');
    at += 1;
  }
  const name = readName(tokens, at);
  if (name === undefined || name.parts.some((part) => part.includes(expressionName))) return [];
  const [table = '', schema = '', database = ''] = name.parts.toReversed();
  const key = [database, schema, table].map((part) => part.toLowerCase()).join('.');
  const isTable = passed.includes('TABLE');
  const rest = tokens.slice(name.next);
  switch (word) {
    case 'INSERT':
      return [{ table: key, kind: passed.includes('OVERWRITE') ? 'replace' : 'fill' }];
    case 'COPY':
      return passed.includes('INTO') ? [{ table: key, kind: 'fill' }] : [];
    case 'MERGE':
      return [{ table: key, kind: 'replace' }];
    case 'TRUNCATE':
      return [{ table: key, kind: 'empty' }];
    case 'DROP':
      return isTable ? [{ table: key, kind: 'empty' }] : [];
    case 'DELETE':
      return rest.some((token) => isWord(token, 'WHERE', 'USING')) ? [] : [{ table: key, kind: 'empty' }];
    default:
      // CREATE TABLE … AS SELECT.
      return isTable &&
        rest.some(
          (token, index) =>
            isWord(token, 'AS') &&
            (isWord(rest[index + 1], 'SELECT', 'WITH') || isSymbol(rest[index + 1], '(')),
        )
        ? [{ table: key, kind: 'replace' }]
        : [];
  }
}
