/** Checks all pipelines of a project whose files are all in memory. */
import { connectorProfileName } from '../connectors/profile-file.ts';
import { readProfileText } from '../connectors/read-profile.ts';
import { describeSyntaxError } from '../format/parse.ts';
import { pipelineTypeOf } from '../format/pipeline.ts';
import type { Finding, Unreadable } from '../validate/finding.ts';
import { linkProject } from './link.ts';
import { outlineProfile, type ProfileOutline } from './link-endpoints.ts';
import { outlineFile, type PipelineOutline } from './outline.ts';

export interface ProjectFile {
  path: string;
  text: string;
}

/**
 * Files that are neither pipelines nor connector profiles are used only by their paths.
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
  const profiles = new Map<string, ProfileOutline>();
  const unreadable = new Map<string, Unreadable>();
  for (const { path, text } of files) {
    paths.add(path);
    if (connectorProfileName(path) !== undefined) {
      const { profile } = readProfileText(text);
      if (profile !== undefined) profiles.set(path, outlineProfile(profile));
    }
    if (pipelineTypeOf(path) === undefined) continue;
    const { outline, error } = outlineFile(path, text);
    if (outline !== undefined) outlines.push(outline);
    else unreadable.set(path, { reason: describeSyntaxError(error), line: error.line });
  }
  const known = {
    variables: new Set(projectVariables),
    secretReferences: new Set(secretReferences),
    files: paths,
    profiles,
    unreadable,
  };
  linkProject(outlines, known, (finding) => findings.push(finding));
  return findings;
}
