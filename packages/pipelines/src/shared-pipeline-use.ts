/**
 * Which shared pipelines a project uses.
 *
 * - **group**: shared pipelines that are published together, named by a prefix.
 * - **use**: a group, and the version of it that is wanted; without one the latest enabled version.
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
 * What the parameters of one component name. They hold no expressions: versions are chosen when the execution starts, before any variable
 * has its value.
 *
 * @throws ParameterError
 */
export function sharedPipelineUse(parameters: PlainMap): SharedPipelineUse {
  const prefix = writtenName('sharedPipelineIdPrefix', parameters.sharedPipelineIdPrefix, sharedPrefixLimit);
  const versionName = writtenName('versionName', parameters.versionName, versionNameLimit);
  if (prefix === '')
    throw new ParameterError('the parameter "sharedPipelineIdPrefix" is missing: fill it in');
  const latest = versionName === '' || versionName.toLowerCase() === latestVersion.toLowerCase();
  return latest ? { prefix } : { prefix, versionName };
}

/** The uses of a pipeline, each once, up to the limit. What is left out, or cannot be read, fails when its component runs. */
export function sharedPipelineUses(pipeline: Pipeline): SharedPipelineUse[] {
  return allUses(pipeline).slice(0, sharedUseLimit);
}

/** How many uses the pipeline has beyond the limit. */
export function sharedUsesBeyond(pipeline: Pipeline): number {
  return Math.max(0, allUses(pipeline).length - sharedUseLimit);
}

function allUses(pipeline: Pipeline): SharedPipelineUse[] {
  const uses = new Map<string, SharedPipelineUse>();
  if (pipeline.type === 'transformation') return [];
  for (const { type, parameters, skipped } of pipeline.components.values()) {
    if (type !== sharedPipelineType || skipped) continue;
    try {
      const use = sharedPipelineUse(parameters);
      uses.set(JSON.stringify(use), use);
    } catch (error) {
      if (!(error instanceof ParameterError)) throw error;
    }
  }
  return [...uses.values()];
}

function writtenName(parameter: string, value: Plain | undefined, limit: number): string {
  if (value === undefined || value === null) return '';
  const name = typeof value === 'string' ? value.trim() : undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  if (name === undefined || name.length > limit || /[\u0000-\u001f]/.test(name) || !name.isWellFormed()) {
    throw new ParameterError(`"${parameter}" must be one line of at most ${limit} characters`);
  }
  if (name.includes('${')) {
    throw new ParameterError(
      `"${parameter}" cannot be an expression, since versions are chosen when the execution starts: write the name out`,
    );
  }
  return name;
}
