/**
 * Uploads that are refused as a whole: strict ones with errors in pipelines, and those without a file.
 */
import { problem, type Violation, withViolations } from '../../kernel/http/problems.ts';
import type { Checked } from './reading/pipeline-checks.ts';
import type { Upload } from './upload/collection.ts';

/** Violations in one response, as in every problem. */
const violationLimit = 100;

/** Throws `strict-upload-refused`. */
export function requireNoErrors({ summary, errorsTotal }: Checked): void {
  if (errorsTotal === 0) return;
  const violations = summary.warnings
    .filter(({ level }) => level === 'error')
    .slice(0, violationLimit)
    .map(({ path, line, component, message }) => {
      const named = component === undefined ? '' : `, component ${JSON.stringify(component)}`;
      return buildPartViolation(path, message, `, line ${line}${named}`);
    });
  const about = { errors: errorsTotal, listed: violations.length };
  throw withViolations(problem('strict-upload-refused', about), violations);
}

/** Throws `empty-upload`. */
export function requireFiles({ manifest, ignored }: Upload): void {
  if (manifest.files.length > 0) return;
  const violations = ignored
    .slice(0, violationLimit)
    .map(({ name, reason }) => buildPartViolation(name, reason));
  throw withViolations(
    problem('empty-upload', { ignored: ignored.length, listed: violations.length }),
    violations,
  );
}

/**
 * The violation of a part; the JSON pointer treats the form as an object. `at` is the place inside the
 * part.
 */
export function buildPartViolation(name: string, detail: string, at = ''): Violation {
  const pointer = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  return { field: `part ${JSON.stringify(name)}${at}`, pointer, detail };
}
