"""The words that make a value one of high stakes, by what they do: pay, reach, log in, unlock, take.

English first; German, French, Spanish, Portuguese, Italian, Norwegian and Hindi (in Latin and Devanagari letters) where
a few key words say it. Written without accents, as `thymus.recognizers.guises.Folded` leaves them.
"""

from __future__ import annotations

from typing import Final

CLASSES: Final[dict[str, str]] = {
    "pay": """
        pay payable remit transfer transferred wire deposit send settle zahlen zahle uberweisen uberweise payer
        payez regler reglez virer verser versez pagar pague paga transfiera transferir transfira deposite bonifico
        versare versa betal betale bhejo bhejna bhejein भेजें भेजो sent paid settled land lands collect collected
        wired verse versee paye paid betales
    """,
    "paid": """
        paid sent made transferred remitted wired deposited verse versee paye payee regle collected settled
    """,
    "money": """
        money payment payments rent deposit balance fee fees fund funds invoice invoices donation* contribution*
        instalment* installment* dues salary wages tuition remittance* proceeds loyer betrag miete zahlung*
        uberweisung* virement* paiement* pago pagos alquiler pagamento* leie kiraya paise paisa cheque cheques fine
        bill
    """,
    "account": """
        account acct acc konto kontonummer kontonr bankkonto bankverbindung cuenta compte conta conto khata rib
        payee beneficiary
    """,
    "account_noun": """
        account acct acc konto kontonummer kontonr bankkonto cuenta compte conta conto khata paybill
    """,
    "yours": """
        you your ur ihr ihre ihrem votre su seu sua tuo vostro
    """,
    "holder": """
        payee beneficiary bankverbindung beneficiaire beneficiario begunstigter empfanger
    """,
    "bank": """
        bank banks sort routing aba ifsc swift bic bsb iban rib escrow agencia agenzia branch bankverbindung paybill
        kontonummer blz payroll
    """,
    "into": """
        to into onto an auf sur a al ala para pra til su sul sulla in
    """,
    "to": """
        to into onto an sur para til a
    """,
    "service": """
        electricity gas water energy customer utility broadband member loyalty user council student meter
    """,
    "demand": """
        please kindly instead future now must should directly only henceforth forward onwards kunftig bitte
        desormais veuillez merci ab ora dorenavant
    """,
    "app": """
        zelle venmo paypal cashapp cashtag revolut monzo bizum vipps swish mobilepay twint pix gpay phonepe paytm
        mpesa pesa paybill interac upi blik satispay lydia payoneer skrill bhim etransfer till
    """,
    "gift": """
        gift steam itunes google apple amazon play ebay xbox vanilla geschenkkarten gutscheinkarten
    """,
    "cards": """
        card cards voucher vouchers karten cartes tarjetas
    """,
    "get": """
        buy purchase get pick grab pay settle kaufen achetez compre
    """,
    "crypto": """
        btc bitcoin bitcoins eth ethereum usdt usdc crypto wallet tron trc20 erc20 coin coins monero ltc litecoin
    """,
    "call": """
        call phone ring dial text txt sms whatsapp fax message dm contact contacted called reached reach rufen
        anrufen ruf telefonieren appelez appeler joignez joindre contactez llame llamar llamenos llama ligue ligar
        contacte contatar chiamate chiami chiamare chiama contatti ring ringe ringer call karo karein fale sampark
        kontakta kontakt telefonnummer rufnummer handynummer hotline helpline marque marcar composez rueckfragen
        ruckfragen erreichbar
    """,
    "write": """
        write email mail contact reach reply respond forward message schreiben mailen ecrivez ecrire envoyez
        repondez escriba escribanos escribir envie escreva scrivete scriva scrivere inviare skriv likho
    """,
    "forward": """
        send forward submit return ship post deliver redirect mail senden schicken sende envoyez envoyer envie
        enviar mande inviate inviare invia spedire sent shipped returned delivered
    """,
    "asks": """
        questions question queries enquiries inquiries help support urgent emergency fragen problem problems issues
        assistance appointments bookings complaints handled requests results
    """,
    "speak": """
        speak talk chat get
    """,
    "number": """
        number numbers nummer numero num no
    """,
    "line": """
        hotline helpline helpdesk switchboard line desk support service services emergency handynummer telefonnummer
        rufnummer notruf notdienst kundenservice telefono tel telephone phone mobile cell landline emergencias
        urgences notfall
    """,
    "now": """
        new now changed change is are it's lautet ist es est er hai right correct instead updated nouveau nouvelle
        neue neuer nuevo nueva novo nova nuovo nuova nytt ny naya
    """,
    "net": """
        telegram signal instagram insta whatsapp discord facebook messenger twitter skype wechat
    """,
    "postal": """
        postal mailing return returns delivery shipping forwarding billing correspondence parcels
    """,
    "act": """
        login logon signin verify verifying validate reactivate redeem unlock unblock reschedule authenticate
        redeliver activate activating bestatigen bestatige verifizieren anmelden aktualisieren entsperren
        freischalten verifiez confirmez validez connectez activez debloquez telechargez payez reglez verifique
        confirme valide actualice inicie active desbloquee descargue pague acesse atualize verifica verifichi
        conferma aggiorna aggiorni acceda accedi scarica bekreft verifiser oppdater betal zahlen zahle renouveler
        renouvelez renouvele aktualisiere oppdateres begleichen bezahlen reregister renueve evitar eviter
    """,
    "mine": """
        your you my our his her their the this that a ihr ihre ihren deine dein votre vos su sus seu sua il tuo tuoi
        kontoen din ditt
    """,
    "details": """
        details detail account card billing payment information info identity profile address email subscription
        bank number password membership data daten datos donnees dados dati konto cuenta compte conta kyc cards
    """,
    "program": """
        app application software client installer update program tool extension plugin driver certificate vpn file
        attachment document patch
    """,
    "prize": """
        refund refunds rebate prize reward rewards cashback compensation grant winnings voucher gift bonus lottery
        erstattung remboursement reembolso rimborso
    """,
    "owned": """
        account card parcel package delivery mailbox access session subscription payment profile number sim shipment
        konto karte paket compte colis cuenta paquete conta encomenda pacco kontoen khata carte tarjeta vitale
        licence license document message item voicemail device plan
    """,
    "stopped": """
        suspended suspension locked blocked restricted limited expired expires held hold disabled deactivated frozen
        closed cancelled terminated full gesperrt abgelaufen ferme suspendu bloque bloquee suspendida bloqueada
        bloqueado retenido retida sospeso bloccato stengt sperret limit expire awaits waiting renewed missed
    """,
    "read": """
        read story article unsubscribe preferences browser newsletter view more photos recording blog abmelden
        desabonner lire leer find recipe rezept receta recette playlist results timetable schedule interview podcast
        episode docs documentation wiki album gallery pictures bilder fotos thread review talk video hours issue
        draft found watch listen follow horario programm programme menu map speisekarte
    """,
    "you": """
        you your u ur ihr ihre ihren ihrem sie votre vos vous su sus usted tu tus seu sua voce suo tuo tua din ditt du
        deg deres aap aapka aapke
    """,
    "click": """
        click tap clicking tippen klicken cliquez clique clic clicca klikk click
    """,
    "lock": """
        door gate garage alarm safe locker lockbox padlock keypad entry entrance building shed buzzer intercom lift
        lobby basement bike haustur tur tor keller alarmanlage porte portail immeuble coffre portillon puerta porton
        alarma caja porta portao cancello portone allarme cassaforte dor alarm darwaza gate wifi
    """,
    "code": """
        code codes combination combo pin digicode codigo codice kode koden kod
    """,
    "lock_code": """
        turcode torcode tursode digicode portkode portkoden dorkode dorkoden lockbox padlock keypad combination
        combo alarmcode hausturcode keysafe passcode portkod zugangscode eingangscode
    """,
    "other_code": """
        promo discount coupon voucher booking reservation post postal zip area country dress error status course
        product tracking offer referral collection pickup dial sort source airport qr swift bank branch reviewed
        review postcode pincode gutschein reserva postale prenotazione rabatt swift tax colour color exit discount
        campaign invite conduct ifsc sap hs hsn icd unlocode item order bar
    """,
    "medicine": """
        medicine medicines medication medications meds drug insulin inhaler antibiotic antibiotics painkiller* syrup
        statin statins thinner vitamin vitamins prescribed dose doses dosage suspension antihistamine steroid
        steroids contraceptive ointment medikament medikamente dosis medicament medicaments traitement sirop
        medicamento medicina remedio jarabe farmaco farmaci medicinale medisin medisinen dawai dawa दवा दवाई
        treatment chemo chemotherapy antidepressant* betablocker* blocker blockers fever fieber fiebre fievre cough
        husten paracetamol paracet ibuprofen morphine pain schmerzen saft pump insulinpumpe
    """,
    "form": """
        pill pills tablet tablets capsule capsules tablette tabletten comprime comprimes gelule gelules pastilla
        pastillas comprimido comprimidos compressa compresse tablett tabletter goli goliyan गोली patch patches puffs
        drops
    """,
    "counted": """
        once twice thrice times mal fois veces vezes volte ganger baar
    """,
    "take": """
        take takes taking give gives giving swallow inhale inject apply put use needs have has on nehmen nimm nimmt
        geben prenez prendre donnez tome tomar dele de toma prenda prendere prende dia ta gi lein leni lena leve
        bekommt tas taken crush added
    """,
    "stop": """
        stop stopping quit skip discontinue cease pause double halve triple increase reduce lower raise raised drop
        cut omit miss doubled halved increased reduced lowered absetzen abgesetzt verdoppeln erhohen arretez arreter
        augmentez doublez deje suspenda suspender aumente aumentar dobre slutt oke sospenda interrompa raddoppi band
    """,
    "not": """
        not don't dont never no
    """,
    "enter": """
        enter type press key punch tapez composez eingeben tippen teclea marque digite digita tast punches types
        enters
    """,
    "screen": """
        screen android ipad films watch school laptop laptops parking battery
    """,
}
"""Words by the name of their class; ``word*`` is every word that begins so."""
