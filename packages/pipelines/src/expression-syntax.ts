/** Whether expressions can be read, before anything runs: they are compiled in QuickJS, and not evaluated. */
import type { QuickJSWASMModule } from 'quickjs-emscripten';
import { shorten } from './template.ts';

/** As an expression is compiled and evaluated. */
export const codeOf = (expression: string) => `(${expression}\n)`;

export const cannotBeRead = (message: string) =>
  `the expression cannot be read (${message}); a text needs quotes`;
export const tooDeep = 'the expression nests or recurses too deeply: simplify it';

/**
 * Compiles in turn, as far as the WebAssembly instance holds out.
 *
 * @returns for each expression that was looked at what is wrong with it; `broken`: the last one has broken the instance
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
      const result = context.evalCode(codeOf(expression), 'expression', { strict: true, compileOnly: true });
      if (result.error === undefined) faults.push(undefined);
      else {
        const message = context.getProp(result.error, 'message');
        const said = context.typeof(message) === 'string' ? context.getString(message) : 'no message';
        message.dispose();
        const fault = said === 'stack overflow' ? tooDeep : cannotBeRead(shorten(said, 500));
        faults.push(`${fault}: ${shorten(expression.trim())}`);
      }
      (result.error ?? result.value).dispose();
    }
    context.dispose();
    runtime.dispose();
    return { faults, broken: false };
  } catch {
    // The WebAssembly stack ended before QuickJS's own bound.
    const expression = expressions[faults.length] ?? '';
    return { faults: [...faults, `${tooDeep}: ${shorten(expression.trim())}`], broken: true };
  }
}
