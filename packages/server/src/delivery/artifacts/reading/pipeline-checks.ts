/**
 * Checks an upload's pipelines: each file as it arrives, and all together at the end. Memory is bounded.
 */
import { type UploadWarning, uploadWarningLimit } from '@headgate/contract';
import {
  linkProject,
  listAskedSecrets,
  listAskedVariables,
  measureNote,
  type PipelineOutline,
  type ProfileOutline,
  type Unreadable,
} from '@headgate/pipelines';
import { problem } from '../../../kernel/http/problems.ts';
import { type Described, describePipeline } from './pipeline-description.ts';
import type { PipelineReader } from './pipeline-reader.ts';

/**
 * Limit of what is stored of the pipelines of one version, as JSON: PostgreSQL reads all of it for each start, 17 ms
 * for 8 MB. Ten thousand pipelines with ten variables each take 7 MB.
 */
const mostDescriptionBytes = 8 * 1_048_576;
const namedPipelines = 3;
/** Limit of the findings and open questions of one upload. */
const noteLimit = 200_000;

export interface Checked {
  /**
   * The findings in the response: first errors, of unreadable files first; then by path, and in the order
   * of the file.
   */
  summary: { warnings: UploadWarning[]; warningsTotal: number };
  errorsTotal: number;
}

export interface PipelineChecks {
  /** Reads a pipeline file. Throws `body-too-large`. */
  take(path: string, text: string): Promise<Described>;
  /** Records a connector profile. */
  takeProfile(path: string, profile: ProfileOutline): void;
  /** Records a pipeline file that is not read. */
  leaveOut(path: string, unreadable: Unreadable): void;
  /**
   * Names of variables that the pipelines use but do not declare. Pass those that the project has to
   * `check`.
   */
  listUnknownVariables(): string[];
  /** Names of secret references that the pipelines use, likewise. */
  listUnknownSecrets(): string[];
  /** Whether the findings depend on the project's warehouse. */
  needsWarehouse(): boolean;
  /** The result of all files. `paths` are those of all stored files. */
  check(
    paths: Iterable<string>,
    projectVariables: Iterable<string>,
    secretReferences: Iterable<string>,
    warehouse?: string,
  ): Checked;
}

/** `title` is how messages name the upload. */
export function createPipelineChecks(
  read: PipelineReader,
  accountId: string,
  title = 'the project',
): PipelineChecks {
  const outlines: PipelineOutline[] = [];
  const profiles = new Map<string, ProfileOutline>();
  const unreadable = new Map<string, Unreadable>();
  const descriptionBytes = new Map<string, number>();
  let totalBytes = 0;
  let room = noteLimit;
  return {
    async take(path, text) {
      const { outline, fault } = await read({ path, text, most: room }, accountId);
      if (outline === undefined) {
        unreadable.set(path, fault);
        return { fault };
      }
      const pipeline = describePipeline(outline);
      const bytes = Buffer.byteLength(JSON.stringify(pipeline));
      descriptionBytes.set(path, bytes);
      totalBytes += bytes;
      if (totalBytes > mostDescriptionBytes)
        throw problem('body-too-large', { limit: renderDescriptionLimit(descriptionBytes) });
      for (const note of outline.notes) room -= measureNote(note);
      outlines.push(outline);
      return { pipeline };
    },
    takeProfile(path, profile) {
      profiles.set(path, profile);
    },
    leaveOut(path, fault) {
      unreadable.set(path, fault);
    },
    listUnknownVariables: () => [...listAskedVariables(outlines)],
    listUnknownSecrets: () => [...listAskedSecrets(outlines, { files: new Set(profiles.keys()), profiles })],
    needsWarehouse: () => outlines.some(({ embeddedOnly }) => embeddedOnly !== undefined),
    check(paths, projectVariables, secretReferences, warehouse) {
      outlines.sort((one, other) => (one.path < other.path ? -1 : 1));
      const known = {
        title,
        variables: new Set(projectVariables),
        secretReferences: new Set(secretReferences),
        files: new Set(paths),
        profiles,
        ...(warehouse === undefined ? {} : { warehouse }),
        unreadable,
      };
      const findings = { error: [] as UploadWarning[], warning: [] as UploadWarning[] };
      let warningsTotal = 0;
      let errorsTotal = 0;
      linkProject(outlines, known, (finding) => {
        warningsTotal += 1;
        if (finding.level === 'error') errorsTotal += 1;
        const alike = findings[finding.level];
        if (alike.length < uploadWarningLimit) alike.push(finding);
      });
      const warnings = [...findings.error, ...findings.warning].slice(0, uploadWarningLimit);
      return { summary: { warnings, warningsTotal }, errorsTotal };
    },
  };
}

function renderDescriptionLimit(bytesOf: ReadonlyMap<string, number>): string {
  const largest = [...bytesOf].toSorted(([, one], [, other]) => other - one).slice(0, namedPipelines);
  const named = largest.map(([path, bytes]) => `${JSON.stringify(path)} (${bytes} bytes)`).join(', ');
  return `the names, variables, descriptions and lists of used pipelines of a version may have at most ${mostDescriptionBytes} bytes of JSON. Largest so far: ${named}. Shorten their variables and notes, or divide the project`;
}
