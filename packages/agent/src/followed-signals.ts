/**
 * An abort controller that any of the signals aborts until `release` is called.
 *
 * `AbortSignal.any` refers to its signals weakly. V8 clears a weak reference only when it collects the whole heap, so
 * that everything the listeners reach, such as a whole run, stays until then.
 */
export function followSignals(signals: readonly AbortSignal[]): {
  controller: AbortController;
  release(): void;
} {
  const controller = new AbortController();
  const listening = signals.map((signal) => {
    const end = () => controller.abort(signal.reason);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
    return () => signal.removeEventListener('abort', end);
  });
  return {
    controller,
    release() {
      for (const stop of listening) stop();
    },
  };
}
