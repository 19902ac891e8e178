/**
 * Variables of a run.
 *
 * - **SHARED**: one value for the whole run, whoever changes it.
 * - **COPIED**: each branch of an iterator, and each pipeline that is called, has a value of its own that begins as its maker's.
 * - **scope**: the variables that one branch of one pipeline sees; a pipeline's own shadow the project's of the same name.
 */
import { variableRowLimit } from './bounds.ts';
import type { GridColumn, Plain, VariableBehaviour, VariableDeclaration, VariableType } from './pipeline.ts';
import { shorten } from './template.ts';

/** `null` is a number, or a cell, that has no value. */
export type Scalar = string | number | null;

export interface Grid {
  readonly columns: readonly GridColumn[];
  readonly rows: readonly (readonly Scalar[])[];
}

export type VariableValue = Scalar | Grid;

export interface Variable {
  readonly name: string;
  readonly type: VariableType;
  readonly behaviour: VariableBehaviour;
  /** Whether who starts the pipeline may set it. */
  readonly settable: boolean;
  readonly columns: readonly GridColumn[];
  readonly value: VariableValue;
}

/** A variable that does not exist, or a value that does not fit it. */
export class VariableError extends Error {}

export interface VariableScope {
  get(name: string): Variable | undefined;
  /** @throws VariableError when there is no such scalar, or the value does not fit its type */
  setScalar(name: string, value: unknown): void;
  /** @throws VariableError */
  setGrid(name: string, rows: unknown): void;
  all(): Variable[];
  /** The scope of an iterator's branch: COPIED variables part, SHARED ones stay common. */
  branch(): VariableScope;
  /** The scope of a pipeline called from here: the project's variables, branched, and the pipeline's own. */
  call(own: readonly Variable[]): VariableScope;
}

/** Holds the value, so that scopes can have it in common. */
interface Cell {
  variable: Variable;
}
type Cells = ReadonlyMap<string, Cell>;

/** A scope of the project's variables only, from which pipelines are called. */
export function createScope(projectVariables: readonly Variable[]): VariableScope {
  return scopeOf(cellsOf(projectVariables), new Map());
}

function cellsOf(variables: readonly Variable[]): Cells {
  return new Map(variables.map((variable) => [variable.name, { variable }]));
}

function branched(cells: Cells): Cells {
  const part = (cell: Cell) => (cell.variable.behaviour === 'SHARED' ? cell : { variable: cell.variable });
  return new Map([...cells].map(([name, cell]) => [name, part(cell)]));
}

function scopeOf(project: Cells, own: Cells): VariableScope {
  const find = (name: string) => own.get(name) ?? project.get(name);
  const cellOf = (name: string, wanted: 'scalar' | 'grid'): Cell => {
    const cell = find(name);
    if (cell === undefined) throw new VariableError(missingVariable(name));
    const { type } = cell.variable;
    if ((type === 'GRID') !== (wanted === 'grid')) {
      throw new VariableError(`the variable "${name}" is ${type}: a ${wanted} variable is needed here`);
    }
    return cell;
  };
  return {
    get: (name) => find(name)?.variable,
    setScalar(name, value) {
      const cell = cellOf(name, 'scalar');
      cell.variable = { ...cell.variable, value: scalarFor(cell.variable, value) };
    },
    setGrid(name, rows) {
      const cell = cellOf(name, 'grid');
      cell.variable = { ...cell.variable, value: gridFor(name, cell.variable.columns, rows) };
    },
    all: () => [...new Map([...project, ...own]).values()].map((cell) => cell.variable),
    branch: () => scopeOf(branched(project), branched(own)),
    call: (variables) => scopeOf(branched(project), cellsOf(variables)),
  };
}

/**
 * Sets variables of a pipeline for whoever starts it.
 *
 * @throws VariableError when there is no such variable, it is PRIVATE, or the value does not fit
 */
export function setArguments(
  scope: VariableScope,
  scalars: Iterable<readonly [string, unknown]>,
  grids: Iterable<readonly [string, unknown]>,
): void {
  const check = (name: string) => {
    if (scope.get(name)?.settable === false) {
      throw new VariableError(
        `the variable "${name}" is PRIVATE, so it cannot be set from outside: make it PUBLIC`,
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

/** The message for a name that no scope holds. */
export function missingVariable(name: string): string {
  return `there is no variable "${name}": declare it in the pipeline or in the project`;
}

/** A pipeline's variable with its default value. @throws VariableError */
export function declaredVariable(declaration: VariableDeclaration): Variable {
  const { name, type, behaviour, visibility, columns, defaultValue } = declaration;
  const frame = { name, type, behaviour, columns, settable: visibility === 'PUBLIC' };
  return {
    ...frame,
    value: type === 'GRID' ? gridFor(name, columns, defaultValue) : scalarFor({ name, type }, defaultValue),
  };
}

/** A project's variable; `value` is a string, a number, `{columns, rows}`, or nothing when it was never set. @throws VariableError */
export function projectVariable(variable: {
  name: string;
  type: VariableType;
  behaviour: VariableBehaviour;
  value?: unknown;
}): Variable {
  const { name, type, behaviour, value } = variable;
  const frame = { name, type, behaviour, settable: true };
  if (type !== 'GRID') return { ...frame, columns: [], value: scalarFor({ name, type }, value ?? '') };
  const { columns, rows } = (value ?? { columns: [], rows: [] }) as {
    columns: readonly GridColumn[];
    rows: unknown;
  };
  return { ...frame, columns, value: gridFor(name, columns, rows) };
}

function scalarFor(variable: { name: string; type: VariableType }, value: unknown): Scalar {
  if (typeof value === 'object' && value !== null) {
    throw new VariableError(`the variable "${variable.name}" takes one value, not a list or a map`);
  }
  if (variable.type === 'TEXT') return value === null || value === undefined ? '' : String(value);
  return numberFor(value, `the variable "${variable.name}" is NUMBER`);
}

function numberFor(value: unknown, what: string): number | null {
  if (value === null || value === undefined || (typeof value === 'string' && value.trim() === ''))
    return null;
  const number = typeof value === 'boolean' ? Number.NaN : Number(value);
  if (!Number.isFinite(number)) throw new VariableError(`${what}: "${String(value)}" is no finite number`);
  if (typeof value === 'string' && digitsOf(value) !== digitsOf(String(number))) {
    throw new VariableError(
      `${what}: ${shorten(value)} has more digits than a number keeps (it would be ${number}): round it, or make it TEXT`,
    );
  }
  return number;
}

const decimalNumber = /^\s*[-+]?(\d*)\.?(\d*)(?:e[-+]?\d+)?\s*$/i;

/** The digits of a decimal number from its first to its last that is not 0; undefined for another notation. */
function digitsOf(text: string): string | undefined {
  const found = decimalNumber.exec(text);
  return found === null ? undefined : `${found[1]}${found[2]}`.replace(/^0+/, '').replace(/0+$/, '');
}

function gridFor(name: string, columns: readonly GridColumn[], rows: unknown): Grid {
  if (!Array.isArray(rows)) throw new VariableError(`the grid variable "${name}" takes a list of rows`);
  if (rows.length > variableRowLimit) {
    throw new VariableError(
      `the grid variable "${name}" holds at most ${variableRowLimit} rows, not ${rows.length}: filter them`,
    );
  }
  return { columns, rows: rows.map((row, index) => gridRow(name, columns, row, index + 1)) };
}

function gridRow(name: string, columns: readonly GridColumn[], row: unknown, number: number): Scalar[] {
  const cells: readonly unknown[] = Array.isArray(row) ? row : [row];
  if (cells.length > columns.length) {
    throw new VariableError(
      `row ${number} of the grid variable "${name}" has ${cells.length} cells for ${columns.length} columns`,
    );
  }
  return columns.map((column, index) => {
    const cell = cells[index];
    if (cell === null || cell === undefined) return null;
    if (typeof cell === 'object')
      throw new VariableError(`a cell of the grid variable "${name}" is a list or a map`);
    return column.type === 'NUMBER'
      ? numberFor(cell, `the column "${column.name}" of the grid variable "${name}" is NUMBER`)
      : String(cell);
  });
}

/** The rows of some columns of a grid, in the order asked for. @throws VariableError */
export function gridColumns(scope: VariableScope, name: string, wanted: readonly string[]): Scalar[][] {
  const variable = scope.get(name);
  if (variable === undefined) throw new VariableError(missingVariable(name));
  if (variable.type !== 'GRID')
    throw new VariableError(`the variable "${name}" is ${variable.type}: a grid is needed here`);
  const { columns, rows } = variable.value as Grid;
  const indexes = wanted.map((column) => {
    const index = columns.findIndex((each) => each.name === column);
    if (index < 0) {
      const names = columns.map((each) => each.name).join(', ');
      throw new VariableError(`the grid variable "${name}" has no column "${column}"; it has: ${names}`);
    }
    return index;
  });
  return rows.map((row) => indexes.map((index) => row[index] ?? null));
}

export function isGrid(value: Plain | VariableValue): value is Grid {
  return typeof value === 'object' && value !== null && 'columns' in value && 'rows' in value;
}
