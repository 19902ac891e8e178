/** Checks `retries`, `retryDelay` and `timeout` of a component. */
import type { ComponentDefinition } from '../components/definition/component.ts';
import type { Attempts, WrongAttempt } from '../format/pipeline.ts';
import type { Report } from './finding.ts';

interface Component {
  readonly name: string;
  readonly type: string;
  readonly attempts?: Attempts;
  readonly wrongAttempts?: readonly WrongAttempt[];
}

/** Components that cannot fail or only pass on. */
const passing: readonly string[] = ['start', 'and', 'or', 'end-success', 'end-failure'];

export function checkAttempts(
  { name: component, type, attempts, wrongAttempts = [] }: Component,
  definition: ComponentDefinition,
  report: Report,
): void {
  for (const { member, message } of wrongAttempts)
    report({ component, at: [member], code: 'invalid-parameter', message, level: 'error' });
  if (attempts === undefined) return;
  const warn = (at: string, message: string) =>
    report({ component, at: [at], code: 'no-effect', message, level: 'warning' });
  const first = attempts.timeoutSeconds === undefined ? 'retries' : 'timeout';
  if (definition.kind === 'transformation' && !definition.output) {
    // Without them the run could take longer than the file says.
    const message = `${type} runs as a part of its outputs, so "retries", "retryDelay" and "timeout" do nothing here: move them to the output`;
    report({ component, at: [first], code: 'no-effect', message, level: 'error' });
  } else if (passing.includes(type))
    warn(first, `${type} only passes on, so "retries", "retryDelay" and "timeout" do nothing here`);
  else if (attempts.delaySeconds > 0 && attempts.retries === 0)
    warn('retryDelay', '"retryDelay" does nothing without "retries": add "retries" or remove it');
}
