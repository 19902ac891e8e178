/**
 * Finds the shared pipelines that a project uses.
 *
 * - **group**: shared pipelines that are published together, named by a prefix.
 * - **use**: a group and the version to use. Without a version: the latest enabled one.
 */
import { sharedPrefixLimit, sharedUseLimit, versionNameLimit } from './bounds.ts';
import { ParameterError } from './parameters.ts';
import type { Pipeline, Plain, PlainMap } from './pipeline.ts';

export const sharedPipelineType = 'run-shared-pipeline';
export const latestVersion = '[Latest]';

export interface SharedPipelineUse {
  readonly prefix: string;
  readonly versionName?: string;
}

/**
 * Reads the use from the parameters of one component. They cannot contain expressions: versions are chosen
 * when the execution starts, before variables have values.
 *
 * @throws ParameterError
 */
export function readSharedPipelineUse(parameters: PlainMap): SharedPipelineUse {
  const prefix = readWrittenName(
    'sharedPipelineIdPrefix',
    parameters.sharedPipelineIdPrefix,
    sharedPrefixLimit,
  );
  const versionName = readWrittenName('versionName', parameters.versionName, versionNameLimit);
  if (prefix === '')
    throw new ParameterError('the parameter "sharedPipelineIdPrefix" is missing: fill it in');
  const latest = versionName === '' || versionName.toLowerCase() === latestVersion.toLowerCase();
  return latest ? { prefix } : { prefix, versionName };
}

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
