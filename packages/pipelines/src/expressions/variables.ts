/**
 * Variables of a run.
 *
 * - **SHARED**: one value for the whole run.
 * - **COPIED**: each branch of an iterator and each called pipeline gets its own copy of the caller's value.
 * - **scope**: the variables visible to one branch of one pipeline. A pipeline's variable hides the project's
 *   variable of the same name.
 */
import { variableRowLimit } from '../format/bounds.ts';
import type {
  GridColumn,
  Plain,
  VariableBehaviour,
  VariableDeclaration,
  VariableType,
} from '../format/pipeline.ts';
import { shorten } from '../format/template.ts';
import { trimBoth } from '../format/trims.ts';

/** `null`: a number or cell without a value. */
export type Scalar = string | number | null;

export interface Grid {
  readonly columns: readonly GridColumn[];
  readonly rows: readonly (readonly Scalar[])[];
}

/** New rows for a grid. */
export type GridRows = readonly (readonly unknown[])[];

export type VariableValue = Scalar | Grid;

export interface Variable {
  readonly name: string;
  readonly type: VariableType;
  readonly behaviour: VariableBehaviour;
  /** Whether the caller of the pipeline may set it. */
  readonly settable: boolean;
  readonly columns: readonly GridColumn[];
  readonly value: VariableValue;
  /** A value with `${…}`. It is resolved each time the variable is read, until another value is set. */
  readonly template?: Plain;
}

/** An unknown variable, or a value that does not fit its variable. */
export class VariableError extends Error {}

export interface VariableScope {
  get(name: string): Variable | undefined;
  /** @throws VariableError if there is no such scalar or the value does not fit its type */
  setScalar(name: string, value: unknown): void;
  /** @throws VariableError */
  setGrid(name: string, rows: unknown): void;
  all(): Variable[];
  /** The scope of an iterator's branch: COPIED variables are copied, SHARED ones stay shared. */
  branch(): VariableScope;
  /**
   * The scope of a called pipeline: a branch of the project's variables, and the pipeline's own variables.
   */
  call(own: readonly Variable[]): VariableScope;
}

/** Holds a value that several scopes may share. */
interface Cell {
  variable: Variable;
}
type Cells = ReadonlyMap<string, Cell>;

/** The scope with only the project's variables, from which the root pipeline is called. */
export function createScope(projectVariables: readonly Variable[]): VariableScope {
  return createScopeOfCells(createCells(projectVariables), new Map());
}

function createCells(variables: readonly Variable[]): Cells {
  return new Map(variables.map((variable) => [variable.name, { variable }]));
}

function branchCells(cells: Cells): Cells {
  const part = (cell: Cell) => (cell.variable.behaviour === 'SHARED' ? cell : { variable: cell.variable });
  return new Map([...cells].map(([name, cell]) => [name, part(cell)]));
}

function createScopeOfCells(project: Cells, own: Cells): VariableScope {
  const find = (name: string) => own.get(name) ?? project.get(name);
  const findCell = (name: string, expected: 'scalar' | 'grid'): Cell => {
    const cell = find(name);
    if (cell === undefined) throw new VariableError(describeMissingVariable(name));
    const { type } = cell.variable;
    if ((type === 'GRID') !== (expected === 'grid')) {
      throw new VariableError(
        `the variable "${name}" is ${type}, but a ${expected} variable is needed here: name another variable`,
      );
    }
    return cell;
  };
  return {
    get: (name) => find(name)?.variable,
    setScalar(name, value) {
      const cell = findCell(name, 'scalar');
      cell.variable = setValue(cell.variable, convertScalar(cell.variable, value));
    },
    setGrid(name, rows) {
      const cell = findCell(name, 'grid');
      cell.variable = setValue(cell.variable, convertGrid(name, cell.variable.columns, rows));
    },
    all: () => [...new Map([...project, ...own]).values()].map((cell) => cell.variable),
    branch: () => createScopeOfCells(branchCells(project), branchCells(own)),
    call: (variables) => createScopeOfCells(branchCells(project), createCells(variables)),
  };
}

/**
 * Sets variables of a pipeline to the values given by its caller.
 *
 * @throws VariableError if there is no such variable, it is PRIVATE, or the value does not fit
 */
export function setArguments(
  scope: VariableScope,
  scalars: Iterable<readonly [string, unknown]>,
  grids: Iterable<readonly [string, unknown]>,
): void {
  const check = (name: string) => {
    if (scope.get(name)?.settable === false) {
      throw new VariableError(
        `the variable "${name}" is PRIVATE and cannot be set from outside the pipeline: make it PUBLIC`,
      );
    }
  };
  for (const [name, value] of scalars) {
    check(name);
    scope.setScalar(name, value);
  }
  for (const [name, rows] of grids) {
    check(name);
    scope.setGrid(name, rows);
  }
}

/** The message for a name that is in no scope. */
export function describeMissingVariable(name: string): string {
  return `there is no variable "${name}": declare it in the pipeline or in the project`;
}

function setValue({ template: _, ...variable }: Variable, value: VariableValue): Variable {
  return { ...variable, value };
}

/** The variable with the value of its resolved default. @throws VariableError */
export function setDefault(variable: Variable, value: unknown): Variable {
  const { name, type, columns } = variable;
  return setValue(
    variable,
    type === 'GRID' ? convertGrid(name, columns, value) : convertScalar({ name, type }, value),
  );
}

/** Whether a default value contains `${…}`. */
export function isTemplate(value: Plain): boolean {
  if (typeof value === 'string') return value.includes('${');
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((inner: Plain) => isTemplate(inner));
}

/** A variable declared by a pipeline, with its default value. @throws VariableError */
export function createDeclaredVariable(declaration: VariableDeclaration): Variable {
  const { name, type, behaviour, visibility, columns, defaultValue } = declaration;
  const frame = { name, type, behaviour, columns, settable: visibility === 'PUBLIC' };
  return createVariable(frame, defaultValue, isTemplate(defaultValue));
}

function createVariable(frame: Omit<Variable, 'value'>, value: unknown, isResolved: boolean): Variable {
  const { type, columns } = frame;
  if (!isResolved) return setDefault({ ...frame, value: null }, value);
  const empty = type === 'GRID' ? { columns, rows: [] } : type === 'TEXT' ? '' : null;
  return { ...frame, value: empty, template: value as Plain };
}

/**
 * A variable of the project. `value` is a string, a number or `{columns, rows}`; absent if it was never set.
 *
 * @throws VariableError
 */
export function createProjectVariable(variable: {
  name: string;
  type: VariableType;
  behaviour: VariableBehaviour;
  value?: unknown;
  /** Whether `${…}` in the value is resolved. */
  supportsDoubleResolution?: boolean | undefined;
}): Variable {
  const { name, type, behaviour, value, supportsDoubleResolution } = variable;
  const grid = type === 'GRID' ? ((value ?? { columns: [], rows: [] }) as ProjectGrid) : undefined;
  const initial = (grid?.rows ?? value ?? '') as Plain;
  const frame = { name, type, behaviour, columns: grid?.columns ?? [], settable: true };
  return createVariable(frame, initial, supportsDoubleResolution === true && isTemplate(initial));
}

interface ProjectGrid {
  readonly columns: readonly GridColumn[];
  readonly rows: unknown;
}

function convertScalar(variable: { name: string; type: VariableType }, value: unknown): Scalar {
  if (typeof value === 'object' && value !== null) {
    throw new VariableError(`the variable "${variable.name}" takes a single value, not a list or a map`);
  }
  if (variable.type === 'TEXT') return value === null || value === undefined ? '' : String(value);
  return convertNumber(value, `the variable "${variable.name}" is NUMBER`);
}

function convertNumber(value: unknown, what: string): number | null {
  if (value === null || value === undefined || (typeof value === 'string' && value.trim() === ''))
    return null;
  const number = typeof value === 'boolean' ? Number.NaN : Number(value);
  if (!Number.isFinite(number))
    throw new VariableError(`${what}, but "${String(value)}" is not a finite number`);
  if (typeof value === 'string' && digitsOf(value) !== digitsOf(String(number))) {
    throw new VariableError(
      `${what}, but ${shorten(value)} has more digits than a number can hold (it would become ${number}): round it, or use a TEXT variable`,
    );
  }
  return number;
}

const decimalNumber = /^[-+]?(\d*)(?:\.(\d*))?(?:e[-+]?\d+)?$/i;

/** The digits of a decimal number from its first to its last that is not 0; undefined for another notation. */
function digitsOf(text: string): string | undefined {
  const found = decimalNumber.exec(text.trim());
  return found === null ? undefined : trimBoth(`${found[1]}${found[2] ?? ''}`, '0');
}

function convertGrid(name: string, columns: readonly GridColumn[], rows: unknown): Grid {
  if (!Array.isArray(rows)) throw new VariableError(`the grid variable "${name}" takes a list of rows`);
  if (rows.length > variableRowLimit) {
    throw new VariableError(
      `the grid variable "${name}" would have ${rows.length} rows; the limit is ${variableRowLimit}: filter them`,
    );
  }
  return { columns, rows: rows.map((row, index) => convertGridRow(name, columns, row, index + 1)) };
}

function convertGridRow(
  name: string,
  columns: readonly GridColumn[],
  row: unknown,
  number: number,
): Scalar[] {
  const cells: readonly unknown[] = Array.isArray(row) ? row : [row];
  if (cells.length > columns.length) {
    throw new VariableError(
      `row ${number} of the grid variable "${name}" has ${cells.length} cells, but the grid has ${columns.length} columns`,
    );
  }
  return columns.map((column, index) => {
    const cell = cells[index];
    if (cell === null || cell === undefined) return null;
    if (typeof cell === 'object')
      throw new VariableError(
        `row ${number} of the grid variable "${name}" has a list or a map as a cell: use a single value`,
      );
    return column.type === 'NUMBER'
      ? convertNumber(cell, `the column "${column.name}" of the grid variable "${name}" is NUMBER`)
      : String(cell);
  });
}

/** The value of a grid variable. @throws VariableError */
export function readGrid(scope: VariableScope, name: string): Grid {
  const variable = scope.get(name);
  if (variable === undefined) throw new VariableError(describeMissingVariable(name));
  if (variable.type !== 'GRID')
    throw new VariableError(
      `the variable "${name}" is ${variable.type}, but a grid variable is needed here: name another variable`,
    );
  return variable.value as Grid;
}

/**
 * The rows of a grid with only the given columns, in the given order. An empty name gives an empty cell: files
 * use it for cells that they leave out.
 *
 * @throws VariableError
 */
export function readGridColumns(scope: VariableScope, name: string, expected: readonly string[]): Scalar[][] {
  const { columns, rows } = readGrid(scope, name);
  const indexes = expected.map((column) => {
    if (column === '') return -1;
    const index = columns.findIndex((each) => each.name === column);
    if (index < 0) {
      const names = columns.map((each) => each.name).join(', ');
      throw new VariableError(`the grid variable "${name}" has no column "${column}": use one of ${names}`);
    }
    return index;
  });
  return rows.map((row) => indexes.map((index) => (index < 0 ? null : (row[index] ?? null))));
}

export function isGrid(value: Plain | VariableValue): value is Grid {
  return typeof value === 'object' && value !== null && 'columns' in value && 'rows' in value;
}
