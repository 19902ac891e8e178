/**
 * Reads a component's resolved parameters in the format's own manner: Yes and No, numbers as texts, lists of
 * tuples.
 */
import { nearestName } from './nearest.ts';
import type { Resolved, ResolvedMap } from './resolve.ts';

/** A parameter that is missing or has not the form that its component needs. */
export class ParameterError extends Error {}
export class MissingParameterError extends ParameterError {}

/** Stands for "no preset": what counts is given in the component's other parameters. */
const givenElsewhere = '[Custom]';

export interface Parameters {
  /** @throws ParameterError when it is missing or empty */
  text(name: string): string;
  optionalText(name: string): string | undefined;
  /** Yes and No, True and False, in any case. */
  yes(name: string, otherwise: boolean): boolean;
  integer(name: string): number;
  optionalInteger(name: string): number | undefined;
  /** One of the given words, read in any case; answers the value that belongs to it. */
  choice<T>(name: string, choices: Readonly<Record<string, T>>, otherwise?: T): T;
  /** A list of names: `[a, b]`, or one-cell rows `[[a], [b]]`. */
  names(name: string): string[];
  /** A list of tuples; each is at least `width` cells wide. */
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
        throw new ParameterError(`"${name}" must be one value, not a list or a map`);
      return String(value);
    },
    text(name) {
      const text = parameters.optionalText(name);
      if (text === undefined) throw missing(name);
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
      if (integer === undefined) throw missing(name);
      return integer;
    },
    choice(name, choices, otherwise) {
      const text = parameters.optionalText(name);
      if (text === undefined) {
        if (otherwise === undefined) throw missing(name);
        return otherwise;
      }
      const wanted = text.trim().toLowerCase();
      const found = Object.entries(choices).find(([word]) => word.toLowerCase() === wanted);
      if (found === undefined) {
        const words = Object.keys(choices);
        const nearest = nearestName(text.trim(), words);
        const remedy = nearest === undefined ? '' : `: did you mean "${nearest}"?`;
        throw new ParameterError(`"${name}" is "${text}"; it can be ${words.join(', ')}${remedy}`);
      }
      return found[1];
    },
    names: (name) => listOf(name, parameters.value(name)).map((cell) => nameOf(name, cell)),
    rows: (name, width) =>
      listOf(name, parameters.value(name)).map((row, index) => rowOf(name, row, width, index + 1)),
  };
  return parameters;
}

const missing = (name: string) => new MissingParameterError(`the parameter "${name}" is missing: fill it in`);

function isList(value: Resolved): value is readonly Resolved[] {
  return Array.isArray(value);
}

function listOf(name: string, value: Resolved | undefined): readonly Resolved[] {
  if (value === undefined || value === null || value === '') return [];
  if (isList(value)) return value;
  throw new ParameterError(`"${name}" must be a list`);
}

function nameOf(parameter: string, cell: Resolved): string {
  const value = isList(cell) && cell.length === 1 ? cell[0] : cell;
  if (value === null || value === undefined || typeof value === 'object' || value === '') {
    throw new ParameterError(`"${parameter}" must be a list of names`);
  }
  return String(value);
}

function rowOf(parameter: string, row: Resolved, width: number, number: number): Resolved[] {
  const cells = isList(row) ? [...row] : [row];
  if (cells.length < width) {
    throw new ParameterError(`row ${number} of "${parameter}" has ${cells.length} cells; it needs ${width}`);
  }
  return cells;
}

/** A cell of a tuple as text; an absent or null one is ''. */
export function cellText(row: readonly Resolved[], index: number): string {
  const cell = row[index];
  if (cell === undefined || cell === null) return '';
  if (typeof cell === 'object') throw new ParameterError('a cell must be one value, not a list or a map');
  return String(cell);
}

/** Yes and No, True and False of a cell; empty is no. @param what how a message names the cell @throws ParameterError */
export function cellYes(row: readonly Resolved[], index: number, what: string): boolean {
  const text = cellText(row, index).trim();
  const word = text.toLowerCase();
  if (word === 'yes' || word === 'true') return true;
  if (word === '' || word === 'no' || word === 'false') return false;
  throw new ParameterError(`${what} is "${text}"; it can be Yes or No`);
}
