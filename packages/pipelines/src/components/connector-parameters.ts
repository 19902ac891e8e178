/** The parameters that components of connectors share. */

import type {
  EndpointLoad,
  EndpointSource,
  Incremental,
  LoadMode,
  SchemaChange,
} from '../connectors/load/endpoint-load.ts';
import type { RequestPlace } from '../connectors/profile.ts';
import {
  createParameters,
  ParameterError,
  type Parameters,
  readCellText,
} from '../expressions/parameters.ts';
import type { Resolved, ResolvedMap } from '../expressions/resolve.ts';
import { findNearestName } from '../format/nearest.ts';

const modes: Readonly<Record<string, LoadMode>> = {
  Replace: 'replace',
  REPLACE_IF_EXISTS: 'replace',
  'Replace if exists': 'replace',
  TRUNCATE_AND_INSERT: 'truncate',
  'Truncate and insert': 'truncate',
  TRUNCATE: 'truncate',
  APPEND: 'append',
  FAIL_IF_EXISTS: 'fail-if-exists',
  'Fail if exists': 'fail-if-exists',
  CREATE: 'fail-if-exists',
};

const schemaChanges: Readonly<Record<string, SchemaChange>> = {
  Stop: 'stop',
  'Stop on new members': 'stop-on-new',
  Widen: 'widen',
};

export const readMode = (parameters: Parameters, name: string, otherwise: LoadMode): LoadMode =>
  parameters.choice(name, modes, otherwise);

export const readSchemaChange = (parameters: Parameters): SchemaChange =>
  parameters.choice('schemaChange', schemaChanges, 'stop');

export const readChildTables = (parameters: Parameters): boolean =>
  parameters.choice('nestedData', { JSON: false, 'Child tables': true }, false);

/** Rows `[name, value]`, or a map from name to value. */
export function readPairs(parameters: Parameters, name: string): [string, string][] {
  const value = parameters.value(name);
  if (isResolvedMap(value)) return Object.entries(value).map(([key, each]) => [key, readCellText([each], 0)]);
  if (Array.isArray(value) && value.some(isResolvedMap)) return value.map((each) => readNamed(each, name));
  return parameters.rows(name, 2).map((row) => [readCellText(row, 0), readCellText(row, 1)]);
}

/** `{name, value}`. */
function readNamed(input: Resolved, name: string): [string, string] {
  if (!isResolvedMap(input) || !('name' in input) || !('value' in input))
    throw new ParameterError(`"${name}" must be a list of {name, value}, or of rows of name and value`);
  return [readCellText([input.name ?? null], 0), readCellText([input.value ?? null], 0)];
}

/** The parameters inside a map. A misspelled one would have no effect, so it is an error. @throws ParameterError */
export function readInner(parameters: Parameters, name: string, known: readonly string[]): Parameters {
  const value = parameters.value(name);
  if (value === undefined || value === null || value === '') return createParameters({});
  if (!isResolvedMap(value)) throw new ParameterError(`"${name}" must be a map`);
  for (const member of Object.keys(value)) {
    const nearest = known.includes(member)
      ? undefined
      : findNearestName(
          member,
          known.filter((each) => !(each in value)),
        );
    if (nearest !== undefined)
      throw new ParameterError(
        `"${name}" has "${member}", which is not one of its parameters: did you mean "${nearest}"?`,
      );
  }
  return createParameters(value);
}

/** The connection's properties: `overrides` of `connectionRef`. @throws ParameterError */
export function readConnection(parameters: Parameters): ResolvedMap {
  const overrides = readInner(parameters, 'connectionRef', ['overrides']).value('overrides') ?? '';
  if (isResolvedMap(overrides)) return overrides;
  if (overrides === '') return {};
  throw new ParameterError('"overrides" must be a map');
}

const incrementalParameters = ['highWaterMarkSelection', 'parameter', 'parameterIn'];

/** `dataLoading`: `{loadType, incrementalLoading: {highWaterMarkSelection, parameter, parameterIn}}`. */
export function readIncremental(parameters: Parameters): Incremental | undefined {
  const loading = readInner(parameters, 'dataLoading', ['loadType', 'incrementalLoading']);
  const loadTypes = {
    FULL_LOAD: false,
    'Full load': false,
    INCREMENTAL_LOAD: true,
    'Incremental load': true,
  };
  if (!loading.choice('loadType', loadTypes, false)) return undefined;
  const inner = readInner(loading, 'incrementalLoading', incrementalParameters);
  const column = inner.text('highWaterMarkSelection');
  const name = inner.optionalText('parameter');
  if (name === undefined) return { column, at: undefined };
  const places = { Query: 'query', Header: 'header', Body: 'body' } as const;
  const place = inner.choice('parameterIn', places, 'query');
  const at: RequestPlace = place === 'body' ? { in: place, path: name.split('.') } : { in: place, name };
  return { column, at };
}

export const noValues: EndpointSource['values'] = { headers: [], query: [], uri: [] };

/** What no parameter says. */
export const plainLoad: Omit<EndpointLoad, 'target' | 'mode'> = {
  wholePages: false,
  schemaChange: 'stop',
  childTables: false,
  primaryKeys: [],
  selection: [],
  condition: undefined,
  rowLimit: undefined,
  incremental: undefined,
  isVerbose: false,
};

/** Whether each page is a line of the run's log. */
export function readIsVerbose(input: Parameters): boolean {
  const levels = {
    ERROR: false,
    WARN: false,
    WARNING: false,
    OFF: false,
    INFO: true,
    DEBUG: true,
    TRACE: true,
  };
  return input.choice('logLevel', levels, false);
}

/** @throws ParameterError if it is not positive */
export function readPositive(parameters: Parameters, name: string): number | undefined {
  const value = parameters.optionalInteger(name);
  if (value === undefined || value > 0) return value;
  throw new ParameterError(`"${name}" is ${value}: it must be at least 1`);
}

function isResolvedMap(value: Resolved | undefined): value is ResolvedMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
