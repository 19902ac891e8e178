/** QuickJS is compiled once in a process. Each run gets its own instance, with its own memory. */
import variant from '@jitl/quickjs-wasmfile-release-sync';
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten';
import { readQuickJs } from './quickjs-bytes.ts';

let compiled: Promise<WebAssembly.Module> | undefined;

// Node's types declare only the types of WebAssembly, and those of the variant are for CommonJS.
const { WebAssembly: webAssembly } = globalThis as unknown as {
  WebAssembly: { compile(bytes: Uint8Array): Promise<WebAssembly.Module> };
};
const quickJs = variant as unknown as QuickJSSyncVariant;

/** Compiles QuickJS ahead of its first use. */
export async function compileQuickJs(): Promise<void> {
  await getCompiled();
}

export async function createQuickJs(): Promise<QuickJSWASMModule> {
  return newQuickJSWASMModuleFromVariant(newVariant(quickJs, { wasmModule: await getCompiled() }));
}

function getCompiled(): Promise<WebAssembly.Module> {
  compiled ??= readQuickJs().then((bytes) => webAssembly.compile(bytes));
  return compiled;
}
