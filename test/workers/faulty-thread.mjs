// A worker entry that dies in mid-job, for real, as often as the region's last words say; then it is the real one.
//
//     last 16 bytes of the region:  fault i32 | deaths left i32 | attempts i32 | unused
//
// It opens the first half of the job before it dies, so that ciphertext is lost under plaintext.
import { workerData } from 'node:worker_threads';

const openGroup = await (await import('#open-worker')).default;

const FAULT = 0;
const DEATHS_LEFT = 1;
const ATTEMPTS = 2;
const { buffer } = workerData.region;
const words = new Int32Array(buffer, buffer.byteLength - 16, 4);

function die(fault) {
  if (fault === 5) {
    // The successor dies while it starts.
    words[FAULT] = 4;
    Atomics.store(words, DEATHS_LEFT, 1);
  }
  if (fault === 1 || fault === 5) process.exit(3);
  if (fault === 2) {
    const hoard = [];
    for (;;) hoard.push(new Array(100_000).fill(hoard.length));
  }
  throw new Error('the handler threw');
}

// Fault 4: the entry itself fails while it is being loaded.
if (words[FAULT] === 4 && Atomics.load(words, DEATHS_LEFT) > 0) {
  Atomics.sub(words, DEATHS_LEFT, 1);
  process.exit(4);
}

export default function openOrDie(message) {
  Atomics.add(words, ATTEMPTS, 1);
  if (words[FAULT] !== 0 && words[FAULT] !== 4 && Atomics.load(words, DEATHS_LEFT) > 0) {
    Atomics.sub(words, DEATHS_LEFT, 1);
    openGroup({ ...message, keys: message.keys.slice(), count: message.count >> 1 });
    die(words[FAULT]);
  }
  return openGroup(message);
}
