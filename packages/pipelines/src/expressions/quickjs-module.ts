/**
 * QuickJS is compiled once in a process. Each engine gets its own instance. Instances that are used one after
 * the other may use one memory, which is wiped between them: a new memory of 16 MB costs more than most
 * expressions, and its garbage collection as much again.
 *
 * The memory has a maximum, because QuickJS in WebAssembly does not count what it allocates: its own limit
 * refuses only single objects that are larger.
 */
import variant from '@jitl/quickjs-wasmfile-release-sync';
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten';
import { expressionBytesLimit } from '../format/bounds.ts';
import { readQuickJs } from './quickjs-bytes.ts';

export interface QuickJsInstance {
  readonly quickjs: QuickJSWASMModule;
  /** False after the end of the run that it belongs to. */
  isUsable(): boolean;
  /** Whether an expression has used more memory than QuickJS begins with. */
  hasGrown(): boolean;
}

/** Gives instances to engines. */
export type QuickJsSource = () => Promise<QuickJsInstance>;

/** A part of WebAssembly, which Node's types do not declare. */
interface Memory {
  readonly buffer: ArrayBuffer;
}
const { WebAssembly: webAssembly } = globalThis as unknown as {
  WebAssembly: {
    compile(bytes: Uint8Array): Promise<WebAssembly.Module>;
    Memory: new (limits: { initial: number; maximum: number }) => Memory;
  };
};
// The declared types of the variant are those for CommonJS.
const quickJs = variant as unknown as QuickJSSyncVariant;
/** In pages of 64 KiB. The compiled QuickJS declares the initial ones. Its stack and its own data need 3 MiB. */
const ownPages = 64;
const pages = { initial: 256, maximum: ownPages + expressionBytesLimit / 65_536 };
const chunkBytes = 65_536;
const zeros = Buffer.alloc(chunkBytes);

let compiled: Promise<WebAssembly.Module> | undefined;

/** Compiles QuickJS ahead of its first use. */
export async function compileQuickJs(): Promise<void> {
  await getCompiled();
}

/** An instance with a memory of its own. */
export const createQuickJs: QuickJsSource = async () => {
  return { ...(await createIn(new webAssembly.Memory(pages))), isUsable: () => true };
};

async function createIn(memory: Memory): Promise<Omit<QuickJsInstance, 'isUsable'>> {
  const variant = newVariant(quickJs, { wasmModule: await getCompiled(), wasmMemory: memory as never });
  const quickjs = await newQuickJSWASMModuleFromVariant(variant);
  return { quickjs, hasGrown: () => hasGrown(memory) };
}

const hasGrown = ({ buffer }: Memory) => buffer.byteLength !== pages.initial * 65_536;

export interface QuickJsLender {
  /** One instance at a time has the kept memory; others get their own. */
  lend: QuickJsSource;
  /** Ends all instances and wipes the memory. */
  wipe(): void;
}

/** For a process that does one run after the other. */
export function createQuickJsLender(): QuickJsLender {
  let memory: Memory | undefined;
  let isLent = false;
  let round = 0;
  return {
    async lend() {
      const mine = round;
      const isUsable = () => mine === round;
      if (isLent) return { ...(await createQuickJs()), isUsable };
      isLent = true;
      memory ??= new webAssembly.Memory(pages);
      return { ...(await createIn(memory)), isUsable };
    },
    wipe() {
      round += 1;
      if (isLent && memory !== undefined && !wipe(memory)) memory = undefined;
      isLent = false;
    },
  };
}

/** @returns false if it has grown, so that it is cheaper to take another */
function wipe(memory: Memory): boolean {
  if (hasGrown(memory)) return false;
  const { buffer } = memory;
  // What was never used is not written: the system would give it memory.
  for (let from = 0; from < buffer.byteLength; from += chunkBytes) {
    const chunk = Buffer.from(buffer, from, chunkBytes);
    if (!chunk.equals(zeros)) chunk.fill(0);
  }
  return true;
}

function getCompiled(): Promise<WebAssembly.Module> {
  compiled ??= readQuickJs().then((bytes) => webAssembly.compile(bytes));
  return compiled;
}
