/**
 * Finds the shared pipelines that a project uses.
 *
 * - **group**: shared pipelines that are published together, named by a prefix.
 * - **use**: a group and the version to use. Without a version: the latest enabled one.
 */

import { MissingParameterError, ParameterError } from '../../expressions/parameters.ts';
import { sharedPrefixLimit, sharedUseLimit, versionNameLimit } from '../../format/bounds.ts';
import type { Pipeline, Plain, PlainMap } from '../../format/pipeline.ts';
import { shorten } from '../../format/template.ts';

export const sharedPipelineType = 'run-shared-pipeline';
export const latestVersion = '[Latest]';

export interface SharedPipelineUse {
  readonly prefix: string;
  readonly versionName?: string;
}

/** Stands between the prefix and the name of a pipeline that are written in one. */
const separator = '#';

/**
 * Reads the use from the parameters of one component. They cannot contain expressions: versions are chosen
 * when the execution starts, before variables have values. The prefix may also stand before the `#` of
 * `pipelineName`, and the version may be called `version`.
 *
 * @throws ParameterError
 */
export function readSharedPipelineUse(parameters: PlainMap): SharedPipelineUse {
  const { sharedPipelineIdPrefix, pipelineName, versionName: name, version } = parameters;
  const joined = isEmpty(sharedPipelineIdPrefix) && !isEmpty(pipelineName);
  const prefix = joined
    ? readWrittenName('pipelineName', readJoinedPrefix(pipelineName), sharedPrefixLimit)
    : readWrittenName('sharedPipelineIdPrefix', sharedPipelineIdPrefix, sharedPrefixLimit);
  const versionName = isEmpty(name)
    ? readWrittenName('version', version, versionNameLimit)
    : readWrittenName('versionName', name, versionNameLimit);
  if (prefix === '') throw new MissingParameterError(describeMissing('sharedPipelineIdPrefix'));
  const latest = versionName === '' || versionName.toLowerCase() === latestVersion.toLowerCase();
  return latest ? { prefix } : { prefix, versionName };
}

export function isSharedPipelineUse(parameters: PlainMap): boolean {
  try {
    readSharedPipelineUse(parameters);
    return true;
  } catch (error) {
    if (error instanceof ParameterError) return false;
    throw error;
  }
}

/**
 * The pipeline's name in its group.
 *
 * @param name the parameter `sharedPipeline`
 * @param joined the parameter `pipelineName`, such as `group#name`
 * @throws ParameterError
 */
export function readSharedPipelineName(name: string | undefined, joined: string | undefined): string {
  if (name !== undefined) return name;
  if (joined === undefined) throw new MissingParameterError(describeMissing('sharedPipeline'));
  const inGroup = joined.slice(joined.indexOf(separator) + 1).trim();
  if (joined.includes(separator) && inGroup !== '') return inGroup;
  throw createNotJoinedError(joined);
}

/** The prefix before the `#`. */
function readJoinedPrefix(joined: Plain | undefined): Plain | undefined {
  if (typeof joined !== 'string') return joined;
  if (!joined.includes(separator)) throw createNotJoinedError(joined);
  return joined.slice(0, joined.indexOf(separator));
}

const createNotJoinedError = (joined: string) =>
  new ParameterError(
    `"pipelineName" is "${shorten(joined)}": write the prefix of the shared pipelines, a # and the name, such as common#tools/Clean up`,
  );

const isEmpty = (value: Plain | undefined) => value === undefined || value === null || value === '';
const describeMissing = (parameter: string) => `the parameter "${parameter}" is missing: fill it in`;

/**
 * The distinct uses of a pipeline, up to the limit. Other and malformed uses fail when their component runs.
 */
export function listSharedPipelineUses(pipeline: Pipeline): SharedPipelineUse[] {
  return listAllUses(pipeline).slice(0, sharedUseLimit);
}

/** The number of uses beyond the limit. */
export function countUsesBeyondLimit(pipeline: Pipeline): number {
  return Math.max(0, listAllUses(pipeline).length - sharedUseLimit);
}

function listAllUses(pipeline: Pipeline): SharedPipelineUse[] {
  const uses = new Map<string, SharedPipelineUse>();
  if (pipeline.type === 'transformation') return [];
  for (const { type, parameters, skipped } of pipeline.components.values()) {
    if (type !== sharedPipelineType || skipped) continue;
    try {
      const use = readSharedPipelineUse(parameters);
      uses.set(JSON.stringify(use), use);
    } catch (error) {
      if (!(error instanceof ParameterError)) throw error;
    }
  }
  return [...uses.values()];
}

function readWrittenName(parameter: string, value: Plain | undefined, limit: number): string {
  if (value === undefined || value === null) return '';
  const name = typeof value === 'string' ? value.trim() : undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  if (name === undefined || name.length > limit || /[\u0000-\u001f]/.test(name) || !name.isWellFormed()) {
    throw new ParameterError(`"${parameter}" must be one line of at most ${limit} characters`);
  }
  if (name.includes('${')) {
    throw new ParameterError(
      `"${parameter}" cannot be an expression, because versions are chosen when the execution starts: write the name itself`,
    );
  }
  return name;
}
