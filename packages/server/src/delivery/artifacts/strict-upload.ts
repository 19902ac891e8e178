/** An upload that is to be refused when its pipelines have errors (decisions.md E10). */
import { problem, type Violation, withViolations } from '../../kernel/problems.ts';
import type { Checked } from './pipeline-checks.ts';
import type { Upload } from './upload.ts';

/** Violations of one answer; the number of all is in its detail. */
const violationLimit = 1_000;

/** Throws `strict-upload-refused`. */
export function requireNoErrors({ unreadable }: Upload, { told, errorsTotal }: Checked): void {
  const errors = unreadable.length + errorsTotal;
  if (errors === 0) return;
  const unread = unreadable.map(({ path, reason }) => violation(`part ${JSON.stringify(path)}`, reason));
  const findings = told.warnings
    .filter(({ level }) => level === 'error')
    .map(({ path, line, component, message }) => {
      const named = component === undefined ? '' : `, component ${JSON.stringify(component)}`;
      return violation(`part ${JSON.stringify(path)}, line ${line}${named}`, message);
    });
  throw withViolations(
    problem('strict-upload-refused', { errors }),
    [...unread, ...findings].slice(0, violationLimit),
  );
}

const violation = (field: string, detail: string): Violation => ({ field, pointer: '', detail });
