/** How a run reaches object stores, and has files converted. */
import type { Converted, StoreAddress } from '@headgate/pipelines';
import type { ConversionRequest } from '../conversion/converter.ts';
import type { FetchOptions } from './fetched-file.ts';
import type { FetchedFile, ObjectStore } from './object-store.ts';

export interface StoreAccess {
  /** @throws Error with the reason */
  open(address: StoreAddress): Promise<ObjectStore>;
  /** Runs of other projects take turns. */
  fetch(options: Omit<FetchOptions, 'bounds' | 'time'>): Promise<FetchedFile[]>;
  /** @throws Error with the reason */
  convert(request: Omit<ConversionRequest, 'fileBytes'>, signal: AbortSignal): Promise<Converted>;
}
