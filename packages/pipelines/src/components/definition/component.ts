/**
 * The definition of a component type: its parameters and its plan.
 *
 * - **action**: the plan of an orchestration's component; plain data and SQL that the engine carries out.
 * - **relation**: the plan of a transformation's component; one SELECT over its sources, which becomes a CTE
 *   named after the component.
 * - **output**: a transformation's component that writes; each is one statement or one transaction.
 */
import type { EndpointLoad, EndpointSource } from '../../connectors/load/endpoint-load.ts';
import type { Parameters } from '../../expressions/parameters.ts';
import type { Resolved } from '../../expressions/resolve.ts';
import type { Grid, GridRows, Scalar, VariableScope } from '../../expressions/variables.ts';
import type { OrchestrationComponent, PipelineType, PlainMap } from '../../format/pipeline.ts';
import type {
  Dialect,
  FileFormat,
  PreparedStatement,
  StatementList,
  TableReference,
} from '../../sql/dialect/dialect.ts';
import type { ConvertedColumn, FileConversion } from '../../stores/conversion.ts';
import type { ExternalTable, StoredTable } from '../../stores/external-tables.ts';
import type { FileTarget } from '../../stores/file-target.ts';
import type {
  FileSource,
  ObjectLoad,
  ObjectReading,
  ObjectSource,
  ObjectTransfer,
  TargetColumn,
} from '../../stores/object-load.ts';
import type { StoreAddress, StorePlace } from '../../stores/store-address.ts';
import type { StoreStatement } from '../../stores/warehouse-stores.ts';
import type { ParameterTable } from './declared-parameters.ts';
import type { SharedPipelineUse } from './shared-pipeline-use.ts';

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
  | (FileTarget & {
      action: 'load-file';
      source: string;
      before: readonly string[];
      statement(path: string): string;
      /** Before it is loaded: `query` returns a row about the file, in which `findFault` finds what is wrong. */
      checks: readonly {
        query(path: string): string;
        findFault(cells: readonly string[]): string | undefined;
      }[];
    })
  /** Loads a file that the agent converts first, once for each conversion. */
  | {
      action: 'load-converted';
      source: FileSource;
      conversions: readonly FileConversion[];
      /** The files in the order of the conversions. */
      plan(files: readonly ConvertedFile[]): StatementList;
    }
  /** Calls an endpoint of a connector profile, and loads what comes. */
  | { action: 'load-endpoint'; source: EndpointSource; load: EndpointLoad }
  /** Loads objects of a store into a table that exists. */
  | {
      action: 'load-objects';
      source: ObjectSource;
      reading: ObjectReading;
      load: ObjectLoad;
      role: string | undefined;
      notes: readonly string[];
    }
  /** Replaces the rows of an external table by those of its files, unless a query returns a row. */
  | {
      action: 'fill-external-table';
      table: ExternalTable | StoredTable;
      unless: string | undefined;
      before: readonly string[];
    }
  /** Writes the rows of a table to an object. `query` gets the columns of the table. */
  | {
      action: 'unload-object';
      table: TableReference;
      place: StorePlace;
      gzips: boolean;
      isNew: boolean;
      maxBytes: number | undefined;
      role: string | undefined;
      format: FileFormat;
      query(columns: readonly TargetColumn[]): string;
    }
  /** A load or an unload by the warehouse itself. */
  | ({ action: 'run-in-store'; store: StoreAddress | undefined } & StoreStatement)
  | ({ action: 'transfer-object' } & ObjectTransfer)
  | { action: 'unload-file'; target: string; format: FileFormat; query: string }
  | {
      action: 'run-script';
      language: ScriptLanguage;
      source: ScriptSource;
      /** Python packages that must be installed. */
      packages: readonly string[];
      timeoutSeconds: number | undefined;
    };

/** Lines of JSON that the agent made of a file. */
export interface ConvertedFile {
  /** Absolute. */
  readonly path: string;
  /** The members of the lines. */
  readonly columns: readonly ConvertedColumn[];
  readonly lineBytes: number;
  readonly isMissing?: true;
}

/** Which files a file-iterator runs over. */
export interface FileSearch {
  /** Relative to the artifact and to the files folder; '' for all. */
  readonly folder: string;
  /** A regular expression for the name or the path; '' for all. */
  readonly pattern: string;
  readonly recursive: boolean;
  readonly limit: number | undefined;
  /** Of a search in an object store; `folder` is then its address. */
  readonly place?: StorePlace;
}

export interface FoundFile {
  /** The folder of the search. */
  readonly folder: string;
  /** The folders between it and the file; '' if there are none. */
  readonly subfolder: string;
  readonly name: string;
  readonly lastModified: string;
  /** In bytes. */
  readonly size: number;
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
  /** It works in the embedded warehouse only, or in it and in these. */
  readonly embeddedOnly?: true | readonly string[];
  /** What to do in other warehouses; absent: use SQL. */
  readonly elsewhere?: string;
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

export interface Source {
  readonly component: string;
  /** Its CTE's name, quoted. */
  readonly name: string;
  /** In order; undefined if only the warehouse knows them. */
  readonly columns: readonly string[] | undefined;
  /** How its rows are made, if a select over it may become part of the same SELECT. */
  readonly projection?: Projection;
}

export interface TransformationContext {
  readonly parameters: Parameters;
  readonly component: string;
  readonly dialect: Dialect;
  readonly sources: readonly Source[];
  /** The rows of the definition's `lookUp`; undefined before the run. */
  readonly found?: readonly (readonly unknown[])[] | undefined;
}

/** A select that keeps, computes and filters columns of one relation. */
export interface Projection {
  /** The relation that it reads. */
  readonly base: Source;
  /** Columns of the base; `except` if only the warehouse knows them. */
  readonly baseColumns: readonly BaseColumn[] | { readonly except: readonly string[] };
  readonly computed: readonly ComputedColumn[];
  readonly where: readonly string[];
}

export interface BaseColumn {
  readonly column: string;
  readonly as: string;
}

export interface ComputedColumn {
  readonly name: string;
  readonly sql: string;
}

export interface Relation {
  readonly select: string;
  readonly columns: readonly string[] | undefined;
  readonly projection?: Projection;
}

export interface Output {
  readonly select: string;
  /** The statements to run. `query` is the select with its WITH clause. */
  write(query: string): StatementList;
  /** What the components that have it as a source read. */
  readonly written: Relation;
  /** It makes a table or view of `select`, which may not be there yet while the run is planned. */
  readonly creates?: true;
  /** `written` reads the sources instead of a table. */
  readonly passesOn?: true;
  /** What it writes outlives the run's temporary tables, so it cannot read them. */
  readonly isView?: true;
}

interface TransformationFrame extends ComponentFrame {
  readonly kind: 'transformation';
  /** How many sources it takes, at least and at most. */
  readonly sources: readonly [least: number, most: number];
  /** Whether it needs the columns of its sources. The run asks the warehouse for those that are not known. */
  needsColumns?(parameters: Parameters): boolean;
  /** A query whose rows `plan` needs: of the catalog, or of the types of the sources' columns. */
  lookUp?(context: TransformationContext): string | undefined;
}

export type TransformationDefinition =
  | (TransformationFrame & { readonly output: false; plan(context: TransformationContext): Relation })
  | (TransformationFrame & { readonly output: true; plan(context: TransformationContext): Output });

export type ComponentDefinition = OrchestrationDefinition | TransformationDefinition;
