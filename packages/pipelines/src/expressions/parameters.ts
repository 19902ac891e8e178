/**
 * Reads a component's resolved parameters by the rules of the format: Yes and No, numbers as texts, lists of
 * tuples.
 */
import { findNearestName } from '../format/nearest.ts';
import type { Resolved, ResolvedMap } from './resolve.ts';

/** A parameter that is missing or malformed. */
export class ParameterError extends Error {}
export class MissingParameterError extends ParameterError {}

/** Means "no preset": the value is given by the component's other parameters. */
const givenElsewhere = '[Custom]';

export interface Parameters {
  /** @throws ParameterError if it is missing or empty */
  text(name: string): string;
  optionalText(name: string): string | undefined;
  /** Yes and No, True and False, in any case. */
  yes(name: string, otherwise: boolean): boolean;
  integer(name: string): number;
  optionalInteger(name: string): number | undefined;
  /** Returns the value for one of the given words, compared without regard to case. */
  choice<T>(name: string, choices: Readonly<Record<string, T>>, otherwise?: T): T;
  /** A list of names: `[a, b]`, or one-cell rows `[[a], [b]]`. */
  names(name: string): string[];
  /** A list of tuples. Each has at least `width` cells. */
  rows(name: string, width: number): Resolved[][];
  value(name: string): Resolved | undefined;
}

export function createParameters(values: ResolvedMap): Parameters {
  const parameters: Parameters = {
    value: (name) => (Object.hasOwn(values, name) ? values[name] : undefined),
    optionalText(name) {
      const value = parameters.value(name);
      if (value === undefined || value === null || value === '' || value === givenElsewhere) return undefined;
      if (typeof value === 'object')
        throw new ParameterError(`"${name}" must be a single value, not a list or a map`);
      return String(value);
    },
    text(name) {
      const text = parameters.optionalText(name);
      if (text === undefined) throw createMissingError(name);
      return text;
    },
    yes: (name, otherwise) =>
      parameters.choice(name, { yes: true, true: true, no: false, false: false }, otherwise),
    optionalInteger(name) {
      const text = parameters.optionalText(name)?.trim();
      if (text === undefined) return undefined;
      if (!/^-?\d{1,15}$/.test(text))
        throw new ParameterError(`"${name}" must be a whole number, not "${text}"`);
      return Number(text);
    },
    integer(name) {
      const integer = parameters.optionalInteger(name);
      if (integer === undefined) throw createMissingError(name);
      return integer;
    },
    choice(name, choices, otherwise) {
      const text = parameters.optionalText(name);
      if (text === undefined) {
        if (otherwise === undefined) throw createMissingError(name);
        return otherwise;
      }
      const lowerText = text.trim().toLowerCase();
      const found = Object.entries(choices).find(([word]) => word.toLowerCase() === lowerText);
      if (found === undefined) {
        const words = Object.keys(choices);
        const nearest = findNearestName(text.trim(), words);
        const remedy =
          nearest === undefined ? `use one of ${words.join(', ')}` : `did you mean "${nearest}"?`;
        throw new ParameterError(`"${name}" is "${text}", which is not a known value: ${remedy}`);
      }
      return found[1];
    },
    names: (name) => readList(name, parameters.value(name)).map((cell) => readName(name, cell)),
    rows: (name, width) =>
      readList(name, parameters.value(name)).map((row, index) => readRow(name, row, width, index + 1)),
  };
  return parameters;
}

const createMissingError = (name: string) =>
  new MissingParameterError(`the parameter "${name}" is missing: fill it in`);

function isList(value: Resolved): value is readonly Resolved[] {
  return Array.isArray(value);
}

function readList(name: string, value: Resolved | undefined): readonly Resolved[] {
  if (value === undefined || value === null || value === '') return [];
  if (isList(value)) return value;
  throw new ParameterError(`"${name}" must be a list, such as [a, b]`);
}

function readName(parameter: string, cell: Resolved): string {
  const value = isList(cell) && cell.length === 1 ? cell[0] : cell;
  if (value === null || value === undefined || typeof value === 'object' || value === '') {
    throw new ParameterError(`"${parameter}" must be a list of names, such as [a, b]`);
  }
  return String(value);
}

function readRow(parameter: string, row: Resolved, width: number, number: number): Resolved[] {
  const cells = isList(row) ? [...row] : [row];
  if (cells.length < width) {
    throw new ParameterError(
      `row ${number} of "${parameter}" has ${cells.length} cells but needs at least ${width}: add the missing cells`,
    );
  }
  return cells;
}

/** A cell of a tuple as text; '' if it is absent or null. */
export function readCellText(row: readonly Resolved[], index: number): string {
  const cell = row[index];
  if (cell === undefined || cell === null) return '';
  if (typeof cell === 'object')
    throw new ParameterError('a cell must be a single value, not a list or a map');
  return String(cell);
}

/**
 * Reads Yes, No, True or False; empty means No.
 *
 * @param what the cell's name in messages
 * @throws ParameterError
 */
export function readCellYes(row: readonly Resolved[], index: number, what: string): boolean {
  const text = readCellText(row, index).trim();
  const word = text.toLowerCase();
  if (word === 'yes' || word === 'true') return true;
  if (word === '' || word === 'no' || word === 'false') return false;
  throw new ParameterError(`${what} is "${text}": use Yes or No`);
}
