/**
 * The definition of a component type: its parameters and its plan.
 *
 * - **action**: the plan of an orchestration's component; plain data and SQL that the engine carries out.
 * - **relation**: the plan of a transformation's component; one SELECT over its sources, which becomes a CTE
 *   named after the component.
 * - **output**: a transformation's component that writes; each is one statement or one transaction.
 */
import { ParameterError, type Parameters } from '../parameters.ts';
import type { OrchestrationComponent, PipelineType, PlainMap } from '../pipeline.ts';
import type { Resolved } from '../resolve.ts';
import type { SharedPipelineUse } from '../shared-pipeline-use.ts';
import type { Dialect, PreparedStatement, StatementList, TableReference } from '../sql/dialect.ts';
import type { Grid, GridRows, Scalar, VariableScope } from '../variables.ts';
import type { ParameterTable } from './declared-parameters.ts';

/** Why an assert does not hold. */
export interface AssertionFault {
  readonly message: string;
  /** For the result of a test: texts of one or more lines. */
  readonly expected: string;
  readonly actual: string;
}

export interface AssertionCheck {
  readonly query: string;
  /** Returns the fault in the query's rows, or undefined. */
  verify(rows: readonly (readonly unknown[])[]): AssertionFault | undefined;
  /** Whether the query returns a single cell with the number of rows to report. */
  readonly counts: boolean;
}

/** Values for variables of a called pipeline. */
export interface CallArguments {
  readonly scalars: readonly (readonly [variable: string, value: Resolved])[];
  readonly grids: readonly (readonly [variable: string, rows: Resolved])[];
}

/** How an iterator runs its target. */
export interface IterationMode {
  readonly target: string;
  readonly concurrent: boolean;
  readonly breakOnFailure: boolean;
}

/** The variables set by one iteration. */
export type Iteration = readonly (readonly [variable: string, value: Scalar])[];

/** The rows of a query, as the warehouse returns them. */
export interface QueryResult {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

/** Statements to run in order. */
export interface PlannedScript {
  readonly statements: readonly (string | PreparedStatement)[];
  /** What has no effect here, for the step's message. */
  readonly notes?: readonly string[];
}

export type ScriptLanguage = 'python' | 'bash';
export type ScriptSource = { readonly text: string } | { readonly file: string };

export type Action =
  | { action: 'pass'; message?: string }
  | { action: 'end'; status: 'SUCCESS' | 'FAILED' }
  | { action: 'branch'; condition: boolean | { expression: string } }
  | ({ action: 'execute' } & PlannedScript)
  /** Runs the statements in a file of the artifact. `resolve`: its `${…}` are replaced first. */
  | { action: 'execute-file'; path: string; resolve: boolean; plan(script: string): PlannedScript }
  | {
      action: 'query-scalars';
      query: string;
      mapping: readonly (readonly [variable: string, column: string])[];
    }
  /** `select` turns the result into the grid's rows. @throws ParameterError */
  | { action: 'query-grid'; query: string; grid: string; select(result: QueryResult, grid: Grid): GridRows }
  | { action: 'change-grid'; grid: string; change(grid: Grid): GridRows }
  | { action: 'update-scalars'; updates: readonly (readonly [variable: string, expression: string])[] }
  | { action: 'print'; lines: readonly string[] }
  /** `fault`: one that is found without a query. */
  | { action: 'assert'; checks: readonly AssertionCheck[]; fault?: AssertionFault }
  | ({ action: 'run-pipeline'; pipelineType: PipelineType; pipelineName: string } & CallArguments)
  /** Its type is that of its file. */
  | ({ action: 'run-pipeline-under-test'; pipelineName: string } & CallArguments)
  | ({ action: 'run-shared-pipeline'; use: SharedPipelineUse; pipelineName: string } & CallArguments)
  | ({ action: 'iterate'; iterations: readonly Iteration[]; message?: string } & IterationMode)
  /** `list` turns the result into iterations. @throws ParameterError */
  | ({ action: 'iterate-query'; query: string; list(result: QueryResult): Iteration[] } & IterationMode)
  | ({ action: 'iterate-files'; search: FileSearch; list(file: FoundFile): Iteration } & IterationMode)
  | { action: 'retry'; target: string; retries: number; delaySeconds(retry: number): number }
  | { action: 'load-file'; source: string; before: readonly string[]; statement(path: string): string }
  | { action: 'unload-file'; target: string; statement(path: string): string }
  | {
      action: 'run-script';
      language: ScriptLanguage;
      source: ScriptSource;
      /** Python packages that must be installed. */
      packages: readonly string[];
      timeoutSeconds: number | undefined;
    };

/** Which files a file-iterator runs over. */
export interface FileSearch {
  /** Relative to the artifact and to the files folder; '' for all. */
  readonly folder: string;
  /** A regular expression for the name or the path; '' for all. */
  readonly pattern: string;
  readonly recursive: boolean;
  readonly limit: number | undefined;
}

export interface FoundFile {
  /** The folder of the search. */
  readonly folder: string;
  /** The folders between it and the file; '' if there are none. */
  readonly subfolder: string;
  readonly name: string;
  readonly lastModified: string;
}

export interface OrchestrationContext {
  readonly parameters: Parameters;
  readonly component: OrchestrationComponent;
  readonly dialect: Dialect;
  readonly scope: VariableScope;
}

/** Where the documentation lists a component. */
export const componentGroups = {
  flow: 'Flow',
  iterators: 'Iterators',
  variables: 'Variables',
  sql: 'SQL',
  scripts: 'Scripts',
  tables: 'Tables',
  files: 'Files',
  tests: 'Tests',
  read: 'Read',
  transform: 'Transform',
  write: 'Write',
} as const;
export type ComponentGroup = keyof typeof componentGroups;

/** What all definitions declare. The documentation and the JSON Schema are generated from it. */
interface ComponentFrame {
  /** What the component does: a few sentences in Markdown. */
  readonly about: string;
  readonly group: ComponentGroup;
  /** The known parameters, in the order in which the documentation lists them. */
  readonly parameters: ParameterTable;
  /**
   * Known parameters of other warehouses. Like all unknown parameters they have no effect here and are named
   * in the step's message, but they are never taken for a misspelled parameter.
   */
  readonly noEffect?: readonly string[];
  /** Other types with the same behaviour. Vendors' suffixes, such as `-v2`, need no entry. */
  readonly aliases?: readonly string[];
  /** A component as YAML. Tests parse and validate it. */
  readonly example: string;
}

export interface OrchestrationDefinition extends ComponentFrame {
  readonly kind: 'orchestration';
  /** It runs its iterationTarget. */
  readonly iterates?: true;
  /** It uses the project's warehouse. */
  readonly warehouse?: true;
  /**
   * What it changes besides tables and files of the agent, such as "sends an e-mail". A test refuses it before
   * it starts.
   */
  readonly changesElsewhere?: string;
  /** Parameters of this component that are used as they are written: `${…}` in them is plain text. */
  listLiteral?(parameters: PlainMap): readonly string[];
  /** @throws ParameterError, SqlError, VariableError */
  plan(context: OrchestrationContext): Action;
  /**
   * Replaces `plan` in the check before the run if `plan` reads variables, whose values are not known then.
   *
   * @throws ParameterError, SqlError
   */
  check?(context: Omit<OrchestrationContext, 'scope'>): void;
}

/** The parameters without those that are used as they are written. */
export function omitLiteralParameters(parameters: PlainMap, definition: ComponentDefinition): PlainMap {
  const literal = listLiteralParameters(parameters, definition);
  if (literal.length === 0) return parameters;
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => !literal.includes(name)));
}

export function listLiteralParameters(
  parameters: PlainMap,
  definition: ComponentDefinition,
): readonly string[] {
  if (definition.kind !== 'orchestration') return [];
  return definition.listLiteral?.(parameters) ?? [];
}

export interface Source {
  readonly component: string;
  /** Its CTE's name, quoted. */
  readonly name: string;
  /** In order; undefined if only the warehouse knows them. */
  readonly columns: readonly string[] | undefined;
}

export interface TransformationContext {
  readonly parameters: Parameters;
  readonly component: string;
  readonly dialect: Dialect;
  readonly sources: readonly Source[];
}

export interface Relation {
  readonly select: string;
  readonly columns: readonly string[] | undefined;
}

export interface Output {
  readonly select: string;
  /** The statements to run. `query` is the select with its WITH clause. */
  write(query: string): StatementList;
}

interface TransformationFrame extends ComponentFrame {
  readonly kind: 'transformation';
  /** How many sources it takes, at least and at most. */
  readonly sources: readonly [least: number, most: number];
}

export type TransformationDefinition =
  | (TransformationFrame & { readonly output: false; plan(context: TransformationContext): Relation })
  | (TransformationFrame & { readonly output: true; plan(context: TransformationContext): Output });

export type ComponentDefinition = OrchestrationDefinition | TransformationDefinition;

/** Reads a table reference from `database`, `schema` and a parameter. @throws ParameterError */
export function readTableReference(parameters: Parameters, tableParameter: string): TableReference {
  return { ...readPlace(parameters), table: parameters.text(tableParameter) };
}

/** The tables of a list, or of a single name. @throws ParameterError */
export function readTableReferences(parameters: Parameters, tablesParameter: string): TableReference[] {
  const single = typeof parameters.value(tablesParameter) === 'string';
  const place = readPlace(parameters);
  const tables = single ? [parameters.text(tablesParameter)] : parameters.names(tablesParameter);
  return tables.map((table) => ({ ...place, table }));
}

/**
 * One statement for each table of a list. No statement is needed if the list comes from an empty grid.
 *
 * @throws ParameterError if the list is written and empty
 */
export function planForTables(
  { parameters, component, dialect }: Omit<OrchestrationContext, 'scope'>,
  tablesParameter: string,
  render: (table: string) => string,
): Action {
  const tables = readTableReferences(parameters, tablesParameter);
  if (tables.length > 0)
    return { action: 'execute', statements: tables.map((table) => render(dialect.table(table))) };
  const written = component.parameters[tablesParameter];
  if (typeof written === 'object' && written !== null && !Array.isArray(written))
    return { action: 'pass', message: `the grid of "${tablesParameter}" is empty: nothing to do` };
  throw new ParameterError(`"${tablesParameter}" is empty: name a table`);
}

function readPlace(parameters: Parameters): Omit<TableReference, 'table'> {
  for (const name of ['database', 'schema']) {
    if (parameters.value(name) === '[Custom]')
      throw new ParameterError(`"${name}" is [Custom]: write the name itself`);
  }
  return {
    database: parameters.optionalText('database'),
    schema: parameters.optionalText('schema'),
  };
}

/** The source of a component that takes exactly one. */
export function getOnlySource(context: TransformationContext): Source {
  const [source] = context.sources;
  if (source === undefined) throw new ParameterError('the component has no source: connect one');
  return source;
}

/** Wraps an SQL expression of the user. The line break keeps a trailing comment from hiding what follows. */
export function wrapUserExpression(written: string, dialect: Dialect): string {
  if (written.trim() === '') throw new ParameterError('an SQL expression is empty: fill it in');
  const { sql } = dialect.user.expression(written);
  return `(${sql.trim()}${sql.includes('--') ? '\n' : ''})`;
}

/** The statements that make a table, after those that make its schema. The last one is counted. */
export function createInSchema(
  dialect: Dialect,
  reference: TableReference,
  statement: string,
): StatementList {
  const statements = [...dialect.makeSchema(reference), statement];
  return { statements, counted: statements.length - 1 };
}

export function createSingleStatement(statement: string): StatementList {
  return { statements: [statement], counted: 0 };
}

export function isSameName(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

/** The columns of a source except some, as a select list; '' if none is left. */
export function renderColumnsExcept(source: Source, except: readonly string[], dialect: Dialect): string {
  if (except.length === 0) return '*';
  if (source.columns === undefined) return dialect.columnsExcept(except);
  return listColumnsExcept(source.columns, except)?.map(dialect.name).join(', ') ?? '';
}

export function listColumnsExcept(
  columns: readonly string[] | undefined,
  except: readonly string[],
): string[] | undefined {
  return columns?.filter((column) => !except.some((each) => isSameName(each, column)));
}

/** An ORDER BY clause of columns, each a name or `[name, Ascending or Descending]`; '' if there are none. */
export function renderOrderBy(parameters: Parameters, parameter: string, dialect: Dialect): string {
  const terms = parameters.rows(parameter, 1).map((row) => renderOrderTerm(row, dialect));
  return terms.length === 0 ? '' : `\nORDER BY ${terms.join(', ')}`;
}

export function renderOrderTerm(row: readonly Resolved[], dialect: Dialect): string {
  const direction = String(row[1] ?? 'Ascending')
    .trim()
    .toLowerCase();
  if (!['', 'ascending', 'descending', 'asc', 'desc'].includes(direction)) {
    throw new ParameterError(`the order is "${row[1]}": use Ascending or Descending`);
  }
  return `${dialect.name(String(row[0] ?? ''))}${direction.startsWith('desc') ? ' DESC' : ''}`;
}
