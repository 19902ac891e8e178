/** Checks all pipelines of a project whose files are all in memory. */
import type { Finding, Unreadable } from './finding.ts';
import { linkProject } from './link.ts';
import { outlineFile, type PipelineOutline } from './outline.ts';
import { describeSyntaxError } from './parse.ts';
import { pipelineTypeOf } from './pipeline.ts';

export interface ProjectFile {
  path: string;
  text: string;
}

/**
 * Files that are not pipelines are used only by their paths.
 *
 * @param projectVariables names of the project's variables
 * @param secretReferences names of the project's secret references
 */
export function validateProject(
  files: Iterable<ProjectFile>,
  projectVariables: readonly string[] = [],
  secretReferences: readonly string[] = [],
): Finding[] {
  const findings: Finding[] = [];
  const outlines: PipelineOutline[] = [];
  const paths = new Set<string>();
  const unreadable = new Map<string, Unreadable>();
  for (const { path, text } of files) {
    paths.add(path);
    if (pipelineTypeOf(path) === undefined) continue;
    const { outline, error } = outlineFile(path, text);
    if (outline !== undefined) outlines.push(outline);
    else unreadable.set(path, { reason: describeSyntaxError(error), line: error.line });
  }
  const known = {
    variables: new Set(projectVariables),
    secretReferences: new Set(secretReferences),
    files: paths,
    unreadable,
  };
  linkProject(outlines, known, (finding) => findings.push(finding));
  return findings;
}
