import { problem } from '../../kernel/http/problems.ts';

/** Ends a source that brings nothing for too long. @throws `request-timeout` */
export async function* withIdleLimit(
  source: AsyncGenerator<Buffer, void, undefined>,
  milliseconds: number,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    for (;;) {
      const next = await limitWait(source.next(), milliseconds);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // Not awaited: it may wait for the client.
    source.return().catch(() => undefined);
  }
}

async function limitWait<Result>(work: Promise<Result>, milliseconds: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(problem('request-timeout')), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
