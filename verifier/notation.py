"""Written forms that mean the same in many languages: labels of answers, units, months, yes and no.

Tables only. They are notation, not knowledge of a subject: nothing here says what a task is about. All entries are in lower
case and Unicode NFC; a language that is missing loses a convenience, never correctness.
"""


def _words(text: str) -> list[str]:
    return text.split()


FINAL_LABELS = """
final answer|the final answer
endgültige antwort|finale antwort|endergebnis
réponse finale|la réponse finale
respuesta final|la respuesta final
risposta finale|la risposta finale
resposta final|a resposta final
eindantwoord|definitief antwoord
slutgiltigt svar|slutsvar|endeligt svar|endelig svar|lopullinen vastaus
konečná odpoveď|záverečná odpoveď|finálna odpoveď
konečná odpověď|závěrečná odpověď|finální odpověď
ostateczna odpowiedź|końcowa odpowiedź|odpowiedź końcowa
végső válasz|răspuns final|răspunsul final|končni odgovor|konačni odgovor|τελική απάντηση
окончательный ответ|итоговый ответ|остаточна відповідь|кінцева відповідь|окончателен отговор
nihai cevap|son cevap|câu trả lời cuối cùng|đáp án cuối cùng|jawaban akhir|jawapan akhir
الإجابة النهائية|الجواب النهائي|תשובה סופית|پاسخ نهایی
अंतिम उत्तर|চূড়ান্ত উত্তর|இறுதி பதில்|คำตอบสุดท้าย
最终答案|最終答案|最后答案|最終的な答え|最終回答|最終解答|최종 답변|최종 답|최종 정답
"""
"""Labels that announce the final answer, separated by `|` and line ends."""

PLAIN_LABELS = """
answer|the answer|antwort|réponse|respuesta|risposta|resposta|antwoord|svar|vastaus
odpoveď|odpověď|odpowiedź|válasz|răspuns|odgovor|απάντηση|ответ|відповідь|отговор|cevap|yanıt
câu trả lời|đáp án|jawaban|jawapan|الإجابة|الجواب|תשובה|پاسخ|उत्तर|উত্তর|பதில்|คำตอบ
答案|答|答え|回答|解答|답변|답|정답
"""
"""Labels that announce an answer; they count where no final label does."""

YES = frozenset(
    _words(
        "yes true oui ja sí si sì sim áno ano tak da igen ναι да так evet có ya نعم כן بله हाँ हां হ্যাঁ ใช่ 是 是的 对 對 はい 예 네"
    )
)
NO = frozenset(
    _words(
        "no false non nein não nee nej nei nie ne nu nem όχι нет ні не hayır không tidak لا לא خیر नहीं না ไม่ใช่ 否 不是 不 "
        "いいえ 아니오 아니요"
    )
)

UNITS = {
    "%": "percent percentage procent procento procenta procentov prozent pourcent porcento por~ciento pour~cent por~cento "
    "per~cento per~cent відсотків процент процентов процентів パーセント 퍼센트 ％",
    "l": "litre litres liter liters litro litros litri litr litry litrov litrů litrów litra литр литра литров літрів リットル 升 리터",
    "ml": "millilitre millilitres milliliter milliliters",
    "m": "metre metres meter meters mètre mètres metro metros metri metrov metrů metrów метр метра метров метрів メートル 米 미터",
    "cm": "centimetre centimetres centimeter centimeters",
    "mm": "millimetre millimetres millimeter millimeters",
    "km": "kilometre kilometres kilometer kilometers kilomètre kilomètres kilometrov kilometrů километров кілометрів",
    "g": "gram grams gramm gramme grammes gramos gramov gramů gramów грамм граммов грамів グラム 克 그램",
    "kg": "kilogram kilograms kilogramm kilogrammes kilogramos kilo kilos kilogramov kilogramů килограмм килограммов",
    "s": "sec secs second seconds sekunde sekunden seconde secondes segundos sekúnd sekund секунд 秒 초",
    "min": "mins minute minutes minuten minutos minuti minút minut минут хвилин 分 分钟 分鐘 분",
    "h": "hr hrs hour hours stunde stunden heure heures hora horas hodín hodin godzin часов годин 小时 小時 時間 시간",
    "°": "degree degrees grad degré degrés grados stupňov stupňů stopni градусов градусів",
    "°c": "℃ celsius",
    "$": "usd us$ dollar dollars dólares",
    "€": "eur euro euros eura eurá eur",
    "£": "gbp",
}
"""Symbol -> spellings of the same unit, separated by spaces; `~` stands for a space inside a spelling."""

SCALE_STEMS = _words(
    "million millón millones milión milijon millió miljoen miljon milhão milhões миллион мільйон billion billón bilion bilión "
    "billió miljard milliard миллиард мільярд trillion trilion thousand tausend tisíc tysi tisoč duizend tusen tūkst тысяч тисяч "
    "hundred hundert honderd dozen dutzend tucet docena douzaine dozzin lakh crore juta ribu nghìn triệu milyon लाख करोड़ हज़ार"
)
"""Beginnings of words that multiply the number before them, in part: `42 million` is not 42."""

SCALE_WORDS = frozenset(
    _words(
        "mil mille mila mio mrd mld mln bin mn bn tn tr k b thsd dz doz ألف مليون 十 百 千 万 萬 億 亿 兆 천 백 만 억 조"
    )
)
"""Whole words, letters and ideographs that multiply the number before them."""

SHORT_UNITS = frozenset(
    _words(
        "m g l s h w v j t ml cl dl hl mm cm dm km mg kg ms ns us hz pa kj mj kw mw gw kv mv ma ah wh ev nm ft in yd mi lb oz hr pt qt "
        "ha db kb mb gb tb px st"
    )
)
"""Units of one or two Latin letters. No other such text is taken for a unit, since `2 x` is a product; a single letter also
needs a space before it, since `5m` may be five million."""

MONTHS = (
    "january jan januar januára janvier enero gennaio janeiro januari ledna stycznia января січня",
    "february feb februar februára février febrero febbraio fevereiro februari února lutego февраля лютого",
    "march mar märz marca mars marzo março maart března марта березня",
    "april apr apríla avril abril aprile dubna kwietnia апреля квітня",
    "may mai mája mayo maggio maio mei května maja мая травня",
    "june jun juni júna juin junio giugno junho června czerwca июня червня",
    "july jul juli júla juillet julio luglio julho července lipca июля липня",
    "august aug augusta août agosto augustus srpna sierpnia августа серпня",
    "september sep sept septembra septembre septiembre settembre setembro září września сентября вересня",
    "october oct oktober októbra octobre octubre ottobre outubro října października октября жовтня",
    "november nov novembra novembre noviembre novembro listopadu listopada ноября листопада",
    "december dec dezember decembra décembre diciembre dicembre dezembro prosince grudnia декабря грудня",
)
"""Names of the twelve months as they stand in a date, separated by spaces."""
