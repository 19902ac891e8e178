/** What an environment demands of the quality review of a version that it takes. */
import { Buffer } from 'node:buffer';
import type { QualityGate, UploadWarning } from '@headgate/contract';
import { pipelineTypeOf, type RuleFinding, rulesFilePaths } from '@headgate/pipelines';
import { problem, type Violation, withViolations } from '../../kernel/http/problems.ts';
import { type Reviewer, type ReviewResult, type ReviewSource, reviewBytesLimit } from './reviewer.ts';

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
  const files = new Map<string, Buffer>();
  let total = 0;
  return {
    retain(path, bytes) {
      const isRead = pipelineTypeOf(path) !== undefined || rulesFilePaths.some((each) => each === path);
      if (!isRead) return;
      total += bytes.length;
      // A copy: the bytes may be a part of the whole request.
      if (total <= reviewBytesLimit) files.set(path, Buffer.from(bytes));
    },
    getSource() {
      if (total > reviewBytesLimit) {
        const reason = `they have ${total} bytes, and a review reads at most ${reviewBytesLimit}; divide the project`;
        throw problem('review-too-large', { reason });
      }
      return {
        files: [...files].map(([path, { length: size }]) => ({ path, size })),
        async *read(chosen) {
          for (const { path } of chosen) yield files.get(path) as Buffer;
        },
      };
    },
  };
}

/** A version that an environment may take. */
export interface GatedVersion {
  accountId: string;
  environmentName: string;
  versionName: string;
  gate: QualityGate;
}

/**
 * Reviews the version if the gate asks for it, and returns the errors that the gate only reports. Throws
 * `quality-gate-refused` and `review-too-large`.
 */
export async function passGate(
  review: Reviewer,
  { accountId, environmentName, versionName, gate }: GatedVersion,
  getSource: () => ReviewSource | Promise<ReviewSource>,
): Promise<UploadWarning[]> {
  if (gate === 'NONE') return [];
  const result = await review(accountId, await getSource());
  if (result.isPassed) return [];
  const found = listFindings(result, 'ERROR');
  if (gate === 'REQUIRED') {
    const violations = found.slice(0, violationLimit).map(buildViolation);
    const about = { environmentName, versionName, errors: found.length, listed: violations.length };
    throw withViolations(problem('quality-gate-refused', about), violations);
  }
  return found.slice(0, warningLimit).map((finding) => createUploadWarning(finding, 'warning'));
}

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
