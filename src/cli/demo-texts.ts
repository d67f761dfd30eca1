/** What people write in the demo: several languages and scripts, right-to-left text, emoji with joiners and selectors. */
import type { DemoRandom } from './demo-random.js';

const PHRASES: readonly (readonly string[])[] = [
  [
    'See you at nine.',
    'Did you get the file?',
    'On my way!',
    'Can we move this to Thursday?',
    'Thanks a lot',
  ],
  ['Bis später!', 'Hast du die Unterlagen bekommen?', 'Grüße aus Köln', 'Das müssen wir prüfen.'],
  ['À tout à l’heure', 'Ça marche pour moi.', 'Où en est-on ?', 'Très bien, merci'],
  ['¿Vienes mañana?', 'Ya llegué', 'Qué buena noticia', 'Nos vemos en la oficina'],
  ['Привет! Как дела?', 'Созвонимся вечером', 'Всё готово', 'Спасибо большое'],
  ['مرحبا، كيف الحال؟', 'سأصل بعد عشر دقائق', 'شكرا جزيلا', 'هل رأيت الرسالة؟'],
  ['שלום, מה שלומך?', 'ניפגש בערב', 'תודה רבה', 'הכול בסדר'],
  ['明天见', '文件收到了吗？', '好的，没问题', '会议改到下午三点'],
  ['了解しました', '今から向かいます', 'ありがとうございます', '資料を送りました'],
  ['내일 봐요', '회의 시간이 바뀌었어요', '감사합니다', '지금 가고 있어요'],
  ['कल मिलते हैं', 'धन्यवाद', 'फ़ाइल मिल गई?', 'ठीक है'],
  ['พรุ่งนี้เจอกัน', 'ขอบคุณมาก', 'กำลังไป', 'ได้เลย'],
];
const EMOJI: readonly string[] = ['😀', '😂', '👍🏽', '❤️', '🎉', '👩‍💻', '👨‍👩‍👧‍👦', '🇺🇳', '✅', '🤷🏻‍♀️'];

/** Reaction keys: emoji with and without a variation selector, and names. */
export const REACTION_KEYS: readonly string[] = ['👍', '❤️', '❤', '😂', '🎉', '🙏🏽', ':ship-it:', '+1', '✅'];

/** One to `phrasesMax` phrases of one language, often with emoji. */
export function demoText(random: DemoRandom, phrasesMax: number): string {
  const language = random.pick(PHRASES);
  const parts: string[] = [];
  for (let i = random.between(1, phrasesMax); i > 0; i--) parts.push(random.pick(language));
  if (random.chance(0.3)) parts.push(random.pick(EMOJI));
  return parts.join(' ');
}
