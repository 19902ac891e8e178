/** The requests to a model server: where they may go, and what is wrong with a response before its events are read. */
import { hideSecrets } from '../../ai-tools/index.ts';
import type { ModelSettings } from './ai-settings.ts';
import { ModelFailed } from './model.ts';

/** Of one response: events are much larger than the text that they bring. */
const mostBytes = 16 * 1_048_576;
/** Of what the model server says, for the log. */
export const mostOfReason = 1_000;

type Fetch = typeof globalThis.fetch;

/** A redirect would send the conversation to an address that the operator did not set. */
export function createModelFetch({ silenceSeconds }: Pick<ModelSettings, 'silenceSeconds'>): Fetch {
  return async (input, init) => {
    const silence = watchSilence(silenceSeconds);
    const signal = AbortSignal.any([...(init?.signal ? [init.signal] : []), silence.signal]);
    try {
      const response = await fetch(input, { ...init, redirect: 'error', signal });
      silence.hear();
      await requireStream(response);
      if (response.body === null) silence.end();
      return new Response(response.body?.pipeThrough(watchBytes(silence)), response);
    } catch (failure) {
      silence.end();
      throw failure;
    }
  };
}

interface Silence {
  signal: AbortSignal;
  /** Something has come: the answer begins, or goes on. */
  hear(): void;
  end(): void;
}

/** Aborts a request when nothing comes for a while. Comments that keep the connection alive count as something. */
function watchSilence(seconds: number): Silence {
  const controller = new AbortController();
  const limit = `${seconds} s (HEADGATE_AI_SILENCE_SECONDS)`;
  let what = `The model server did not begin to answer within ${limit}.`;
  const timer = setTimeout(
    () => controller.abort(new ModelFailed('model-unavailable', what)),
    seconds * 1_000,
  );
  return {
    signal: controller.signal,
    hear() {
      what = `The model server sent nothing for ${limit} in the middle of an answer.`;
      timer.refresh();
    },
    end: () => clearTimeout(timer),
  };
}

/** A model server that does not stream answers with a document, and a proxy before it with a page. */
async function requireStream(response: Response): Promise<void> {
  const type = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (!response.ok || !['application/json', 'text/html'].includes(type)) return;
  const text = `The model server answered with ${type} and not with a stream of events: it ignores \`stream: true\`, or HEADGATE_AI_BASE_URL is not its address. AI tasks need a model server that streams its answers.`;
  throw new ModelFailed('model-does-not-stream', text, await readReason(response));
}

async function readReason(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let reason = '';
  for await (const bytes of response.body ?? []) {
    reason += decoder.decode(bytes, { stream: true });
    if (reason.length >= mostOfReason) break;
  }
  return hideSecrets(reason).slice(0, mostOfReason);
}

/** The adapters keep a response until its end, or until a line of it ends. */
function watchBytes(silence: Silence): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      silence.hear();
      bytes += chunk.byteLength;
      if (bytes <= mostBytes) controller.enqueue(chunk);
      else {
        silence.end();
        controller.error(new ModelFailed('answer-too-long', 'The answer of the model server was too long.'));
      }
    },
    flush: () => silence.end(),
    // Also when the reader has enough, or the request is aborted.
    cancel: () => silence.end(),
  });
}
