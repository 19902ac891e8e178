/**
 * Selects paths by a regular expression. It comes from the pipeline and may backtrack for ever, so it is tested
 * in the sandbox of expressions, within their limits of time and memory.
 */
import { type ExpressionEngine, type FileSearch, ParameterError, type Variable } from '@headgate/pipelines';
import { getMessage } from './run-context.ts';

/** Paths of one evaluation. */
const batchSize = 1_000;

/** The whole name, the path below the folder, or the whole path must match. */
const test = `(() => {
  const expression = new RegExp('^(?:' + pattern + ')$', flags);
  return paths.path.map((path, index) => [path, paths.name[index], paths.whole[index]].some((each) => expression.test(each)));
})()`;

/** @throws ParameterError */
export async function selectMatching(
  paths: readonly string[],
  { pattern, folder }: FileSearch,
  expressions: ExpressionEngine,
): Promise<string[]> {
  if (pattern === '') return [...paths];
  // The vendor's expressions are Java's, which write flags at the beginning.
  const flags = /^\(\?([imsu]+)\)/.exec(pattern)?.[1] ?? '';
  const source = flags === '' ? pattern : pattern.slice(flags.length + 3);
  const texts = { pattern: source, flags: [...new Set(flags)].join('') };
  const selected: string[] = [];
  for (let from = 0; from < paths.length; from += batchSize) {
    const batch = paths.slice(from, from + batchSize);
    const variables = [...Object.entries(texts).map(createText), createPaths(batch, folder)];
    const matches = await expressions.evaluate(test, { variables, sysvar: {} }).catch((error) => {
      throw new ParameterError(
        `"filterRegex" is ${pattern}, which cannot be used as a regular expression: ${getMessage(error)}`,
      );
    });
    const matched = JSON.parse(String(matches)) as boolean[];
    selected.push(...batch.filter((_, index) => matched[index] === true));
  }
  return selected;
}

const frame = { behaviour: 'COPIED', settable: false, columns: [] } as const;
const createText = ([name, value]: [string, string]): Variable => ({ ...frame, name, type: 'TEXT', value });

function createPaths(paths: readonly string[], folder: string): Variable {
  const columns = ['path', 'name', 'whole'].map((name) => ({ name, type: 'TEXT' as const }));
  const rows = paths.map((path) => [
    path,
    path.slice(path.lastIndexOf('/') + 1),
    folder === '' ? path : `${folder}/${path}`,
  ]);
  return { ...frame, name: 'paths', type: 'GRID', columns, value: { columns, rows } };
}
