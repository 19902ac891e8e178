/** What an environment demands of the quality review of a version that it takes. */
import { Buffer } from 'node:buffer';
import type { UploadWarning } from '@headgate/contract';
import { type RuleFinding, renderRulesFile } from '@headgate/pipelines';
import { problem, type Violation, withViolations } from '../../kernel/http/problems.ts';
import type { Gate } from './quality-gate.store.ts';
import {
  findBytesLimit,
  type Reviewer,
  type ReviewResult,
  type ReviewSource,
  reviewBytesLimit,
  type SourceFile,
} from './reviewer.ts';

/** Violations in one response, as in every problem. */
const violationLimit = 100;
/** Errors that are warnings of an upload. */
const warningLimit = 100;

/** The files that a review reads, kept while others only pass through. */
export interface RetainedFiles {
  retain(path: string, bytes: Buffer): void;
  /** Throws `review-too-large`. */
  getSource(): ReviewSource;
}

export function createRetainedFiles(): RetainedFiles {
  const files = new Map<string, SourceFile>();
  const contents = new Map<string, Buffer>();
  let total = 0;
  return {
    retain(path, bytes) {
      const limit = findBytesLimit(path);
      if (limit === undefined) return;
      const { length: size } = bytes;
      files.set(path, { path, size });
      contents.delete(path);
      // What is larger is not read by a review.
      total += size;
      // A copy: the bytes may be a part of the whole request.
      if (size <= limit && total <= reviewBytesLimit) contents.set(path, Buffer.from(bytes));
    },
    getSource() {
      if (total > reviewBytesLimit) {
        const reason = `they have ${total} bytes, and a review reads at most ${reviewBytesLimit}; divide the project`;
        throw problem('review-too-large', { reason });
      }
      return {
        files: [...files.values()],
        async *read(chosen) {
          for (const { path } of chosen) yield contents.get(path) as Buffer;
        },
      };
    },
  };
}

/** A version that an environment may take. */
export interface GatedVersion {
  accountId: string;
  projectId: string;
  environmentName: string;
  versionName: string;
  gate: Gate;
}

/** The file of the rules of a gate, in findings. */
const gateRulesPath = 'qualityGateRules';

/**
 * Reviews the version if the gate asks for it, and returns the errors that the gate only reports. Throws
 * `quality-gate-refused` and `review-too-large`.
 */
export async function passGate(
  review: Reviewer,
  { accountId, projectId, environmentName, versionName, gate }: GatedVersion,
  getSource: () => ReviewSource | Promise<ReviewSource>,
): Promise<UploadWarning[]> {
  const { quality_gate: level, quality_gate_rules: own } = gate;
  if (level === 'NONE') return [];
  const rules = own === null ? {} : { rules: [renderRulesFile(gateRulesPath, own)] };
  const result = await review({ accountId, projectId }, await getSource(), rules);
  if (result.isPassed) return [];
  const found = listFindings(result, 'ERROR');
  if (level === 'REQUIRED') {
    const violations = found.slice(0, violationLimit).map(buildViolation);
    const about = { environmentName, versionName, errors: found.length, listed: violations.length };
    throw withViolations(problem('quality-gate-refused', about), violations);
  }
  return found.slice(0, warningLimit).map((finding) => createUploadWarning(finding, 'warning'));
}

/** The warning of a version that is taken with errors. */
export const describeGateErrors = (count: number) =>
  `the quality review of the version is FAILED with ${count} ${count === 1 ? 'error' : 'errors'}; POST /dpc/v1/projects/{projectId}/reviews lists them`;

export type PlacedFinding = RuleFinding & { path: string };

export function listFindings({ findings }: ReviewResult, level: RuleFinding['level']): PlacedFinding[] {
  return [...findings].flatMap(([path, found]) =>
    found.filter((finding) => finding.level === level).map((finding) => ({ path, ...finding })),
  );
}

/** The JSON pointer treats the version as an object of files. */
function buildViolation({ path, line, component, rule, message }: PlacedFinding): Violation {
  const named = component === undefined ? '' : `, component ${JSON.stringify(component)}`;
  return {
    field: `file ${JSON.stringify(path)}, line ${line}${named}`,
    pointer: `/${path.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    detail: `${message} (rule ${rule})`,
  };
}

/** The finding in the form of those of an upload. */
export function createUploadWarning(
  { path, line, component, rule, message }: PlacedFinding,
  level: UploadWarning['level'],
): UploadWarning {
  return { path, line, ...(component === undefined ? {} : { component }), code: rule, level, message };
}
