import { compilePattern, type FileSearch } from '@headgate/pipelines';

/**
 * The paths whose name, path below the folder, or whole path matches the pattern.
 *
 * @throws ParameterError
 */
export async function selectMatching(
  paths: readonly string[],
  { pattern, folder }: FileSearch,
): Promise<string[]> {
  if (pattern === '') return [...paths];
  const matches = await compilePattern('filterRegex', pattern);
  const prefix = folder === '' ? '' : `${folder}/`;
  return paths.filter(
    (path) => matches(path) || matches(path.slice(path.lastIndexOf('/') + 1)) || matches(prefix + path),
  );
}
