/** Checks the syntax of expressions before a run: QuickJS compiles them without evaluating them. */
import type { QuickJSWASMModule } from 'quickjs-emscripten';
import { shorten } from '../format/template.ts';

/** The source that is compiled and evaluated for an expression. */
export const wrapExpression = (expression: string) => `(${expression}\n)`;

export const describeUnreadable = (message: string) =>
  `the expression has a syntax error (${message}): correct it; put quotes around a text`;
export const tooDeepMessage = 'the expression is nested or recurses too deeply: simplify it';

/**
 * Compiles expressions in order until one exhausts the WebAssembly stack.
 *
 * @returns a fault or undefined for each compiled expression; `broken`: the last one made the instance
 *   unusable
 */
export function compileAll(
  quickjs: QuickJSWASMModule,
  limits: { bytes: number; stackBytes: number },
  expressions: readonly string[],
): { faults: (string | undefined)[]; broken: boolean } {
  const faults: (string | undefined)[] = [];
  try {
    const runtime = quickjs.newRuntime();
    runtime.setMemoryLimit(limits.bytes);
    runtime.setMaxStackSize(limits.stackBytes);
    const context = runtime.newContext();
    for (const expression of expressions) {
      const result = context.evalCode(wrapExpression(expression), 'expression', {
        strict: true,
        compileOnly: true,
      });
      if (result.error === undefined) faults.push(undefined);
      else {
        const message = context.getProp(result.error, 'message');
        const text = context.typeof(message) === 'string' ? context.getString(message) : 'no message';
        message.dispose();
        const fault = text === 'stack overflow' ? tooDeepMessage : describeUnreadable(shorten(text, 500));
        faults.push(`${fault}: ${shorten(expression.trim())}`);
      }
      (result.error ?? result.value).dispose();
    }
    context.dispose();
    runtime.dispose();
    return { faults, broken: false };
  } catch {
    // The WebAssembly stack overflowed before QuickJS's own limit was reached.
    const expression = expressions[faults.length] ?? '';
    return { faults: [...faults, `${tooDeepMessage}: ${shorten(expression.trim())}`], broken: true };
  }
}
